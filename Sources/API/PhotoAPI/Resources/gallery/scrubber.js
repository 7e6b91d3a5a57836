// The strip at the side: years of the whole list, to jump anywhere with one movement.

import { make, on } from "/gallery/dom.js"
import { monthName } from "/gallery/strings.js"

export class Scrubber {
  constructor(element, timeline) {
    this.element = element
    this.timeline = timeline
    this.thumb = element.appendChild(make("div", { className: "thumb" }))
    this.bubble = element.appendChild(make("div", { className: "bubble" }))
    on(timeline, "layout", () => this.#layOut())
    on(timeline, "scroll", () => this.#move())
    on(element, "pointerdown", (event) => {
      element.setPointerCapture(event.pointerId)
      element.classList.add("active")
      this.#jump(event)
    })
    on(element, "pointermove", (event) => { if (element.hasPointerCapture(event.pointerId)) this.#jump(event) })
    on(element, "lostpointercapture", () => element.classList.remove("active"))
  }

  get #scrollable() { return Math.max(1, this.timeline.layout.height - this.timeline.element.clientHeight) }

  #layOut() {
    for (const label of this.element.querySelectorAll(".year")) label.remove()
    const height = this.element.clientHeight
    let lastYear = null, lastY = -100
    for (const { month, top } of this.timeline.layout.months) {
      const year = Math.floor(month / 12)
      const y = Math.min(1, top / this.#scrollable) * (height - 20)
      if (year === lastYear || y - lastY < 22) continue
      lastYear = year
      lastY = y
      const label = make("span", { className: "year", textContent: year })
      label.style.top = `${y}px`
      this.element.append(label)
    }
    this.element.hidden = this.timeline.layout.months.length < 2
    this.#move()
  }

  #move() {
    const share = this.timeline.element.scrollTop / this.#scrollable
    this.thumb.style.top = `${share * (this.element.clientHeight - 20)}px`
    const month = this.timeline.layout.monthAt(this.timeline.element.scrollTop + 40)
    this.bubble.textContent = month ? monthName(month.month) : ""
    this.bubble.style.top = this.thumb.style.top
  }

  #jump(event) {
    const box = this.element.getBoundingClientRect()
    const share = Math.min(1, Math.max(0, (event.clientY - box.top) / box.height))
    this.timeline.element.scrollTop = share * this.#scrollable
  }
}
