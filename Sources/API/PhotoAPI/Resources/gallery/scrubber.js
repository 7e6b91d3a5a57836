// The strip at the side: years of the whole list, to jump anywhere with one movement.

import { monthName } from "/gallery/strings.js"

export class Scrubber {
  constructor(element, timeline) {
    this.element = element
    this.timeline = timeline
    this.thumb = element.appendChild(Object.assign(document.createElement("div"), { className: "thumb" }))
    this.bubble = element.appendChild(Object.assign(document.createElement("div"), { className: "bubble" }))
    timeline.addEventListener("layout", () => this.#layOut())
    timeline.addEventListener("scroll", () => this.#move())
    element.addEventListener("pointerdown", (event) => {
      element.setPointerCapture(event.pointerId)
      element.classList.add("active")
      this.#jump(event)
    })
    element.addEventListener("pointermove", (event) => { if (element.hasPointerCapture(event.pointerId)) this.#jump(event) })
    element.addEventListener("lostpointercapture", () => element.classList.remove("active"))
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
      const label = Object.assign(document.createElement("span"), { className: "year", textContent: year })
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
