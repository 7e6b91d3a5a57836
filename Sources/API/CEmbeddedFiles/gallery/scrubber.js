// The strip at the side: years of the whole list, to jump to.

import { $, all, clamp, make, on, page } from "./dom.js"
import { monthName } from "./strings.js"
import { element as timeline, layout } from "./timeline.js"

const strip = $("scrubber")
const thumb = strip.appendChild(make("div.thumb"))
const bubble = strip.appendChild(make("div.bubble.card"))
const THUMB_HEIGHT = 20
const LABEL_HEIGHT = 22

on(page, "layout", drawYears)
on(page, "scroll", ({ detail }) => move(detail))
on(strip, "pointerdown", (event) => {
  strip.setPointerCapture(event.pointerId)
  strip.classList.add("active")
  jump(event)
})
on(strip, "pointermove", (event) => { if (strip.hasPointerCapture(event.pointerId)) jump(event) })
on(strip, "lostpointercapture", () => strip.classList.remove("active"))

/// How far list and thumb move. Reading sizes costs a layout.
let scrollable = 1, track = 0, shown

function drawYears() {
  for (const label of all(".year")) label.remove()
  strip.hidden = layout.months.length < 2
  scrollable = Math.max(1, layout.height - timeline.clientHeight)
  track = strip.clientHeight - THUMB_HEIGHT
  let lastYear = null, lastY = -LABEL_HEIGHT
  for (const { month, top } of layout.months) {
    const year = Math.floor(month / 12)
    const y = Math.min(1, top / scrollable) * track
    if (year === lastYear || y - lastY < LABEL_HEIGHT) continue
    lastYear = year
    lastY = y
    strip.append(make("span.year", { style: { top: `${y}px` } }, year))
  }
  move(timeline.scrollTop)
}

function move(top) {
  const { month } = layout.monthAt(top + 40) ?? {}
  thumb.style.translate = bubble.style.translate = `0 ${top / scrollable * track}px`
  if (month !== shown) bubble.textContent = month ? monthName(month) : ""
  shown = month
}

function jump({ clientY }) {
  const { top, height } = strip.getBoundingClientRect()
  timeline.scrollTop = clamp((clientY - top) / height, 0, 1) * scrollable
}
