// The strip at the side: years of the whole list, to jump anywhere with one movement.

import { $, clamp, make, on, page } from "./dom.js"
import { monthName } from "./strings.js"
import { element as timeline, layout } from "./timeline.js"

const strip = $("scrubber")
const thumb = strip.appendChild(make("div.thumb"))
const bubble = strip.appendChild(make("div.bubble.card"))
const THUMB_HEIGHT = 20
const LABEL_HEIGHT = 22

on(page, "layout", drawYears)
on(page, "scroll", move)
on(strip, "pointerdown", (event) => {
  strip.setPointerCapture(event.pointerId)
  strip.classList.add("active")
  jump(event)
})
on(strip, "pointermove", (event) => { if (strip.hasPointerCapture(event.pointerId)) jump(event) })
on(strip, "lostpointercapture", () => strip.classList.remove("active"))

const scrollable = () => Math.max(1, layout.height - timeline.clientHeight)

function drawYears() {
  for (const label of strip.querySelectorAll(".year")) label.remove()
  strip.hidden = layout.months.length < 2
  let lastYear = null, lastY = -LABEL_HEIGHT
  for (const { month, top } of layout.months) {
    const year = Math.floor(month / 12)
    const y = Math.min(1, top / scrollable()) * (strip.clientHeight - THUMB_HEIGHT)
    if (year === lastYear || y - lastY < LABEL_HEIGHT) continue
    lastYear = year
    lastY = y
    strip.append(make("span.year", { style: { top: `${y}px` } }, year))
  }
  move()
}

function move() {
  const { scrollTop } = timeline, { month } = layout.monthAt(scrollTop + 40) ?? {}
  thumb.style.top = bubble.style.top = `${scrollTop / scrollable() * (strip.clientHeight - THUMB_HEIGHT)}px`
  bubble.textContent = month ? monthName(month) : ""
}

function jump({ clientY }) {
  const { top, height } = strip.getBoundingClientRect()
  timeline.scrollTop = clamp((clientY - top) / height, 0, 1) * scrollable()
}
