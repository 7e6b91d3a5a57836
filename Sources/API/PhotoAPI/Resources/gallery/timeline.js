// The grid: rows of pictures by month. Only the cells near the screen exist. The daemon prepares the next ones: a preheat
// window follows the scroll (PHCachingImageManager's startCachingImages, driven by the server).

import { imageURL, json } from "/gallery/api.js"
import { Emitter, make, on } from "/gallery/dom.js"
import { Layout } from "/gallery/layout.js"
import { dayName, monthName, seconds, text } from "/gallery/strings.js"
import { placeholderURL } from "/gallery/thumbhash.js"

/// Heights of thumbnails in pixels: few sizes, so that caches are shared by windows of all widths.
const THUMBNAIL_HEIGHTS = [160, 240, 320, 480]
const LONG_PRESS = 450
const client = `gallery-${Math.random().toString(36).slice(2, 8)}`

export class Timeline extends Emitter {
  selection = new Set()
  layout = new Layout([], 1000, 200)
  #list = null
  #cells = new Map()
  #headings = new Map()
  #old = new Map()
  #focused = 0
  #anchor = null
  #lastTop = 0
  #lastTime = 0
  #isFast = false
  #frame = 0
  #settle = 0
  #windowTimer = 0
  #reported = ""
  #isPressed = false

  /// Whether pictures can be dragged to albums.
  canDrag = false

  constructor(element) {
    super()
    this.element = element
    this.canvas = element.appendChild(make("div"))
    this.canvas.className = "canvas"
    this.empty = element.appendChild(make("p"))
    this.empty.className = "empty"
    on(element, "scroll", () => this.#schedule(), { passive: true })
    on(element, "keydown", (event) => this.#key(event))
    on(this.canvas, "click", (event) => this.#click(event))
    on(this.canvas, "pointerdown", (event) => this.#press(event))
    // A long press selects: what moves then is the selection, not the picture.
    on(this.canvas, "dragstart", (event) => { if (this.#isPressed) event.preventDefault() })
    new ResizeObserver(() => this.relayout()).observe(element)
  }

  get assets() { return this.#list?.assets ?? [] }

  show(list) {
    this.#list = list
    this.#focused = 0
    this.element.scrollTop = 0
    this.select(new Set())
    this.relayout(true)
  }

  /// Lays the list out again. What is on the screen stays where it is.
  relayout(isNew = false) {
    const width = this.canvas.clientWidth
    if (width === 0) return
    const top = this.element.scrollTop
    const visible = isNew || top < 1 ? null : this.layout.visible(top, top + 1)
    const kept = visible && this.#cells.get(visible[0])?.asset
    const distance = visible ? this.layout.tops[this.layout.rowOf(visible[0])] - top : 0
    this.rowHeight = width < 500 ? 112 : width < 1200 ? 180 : 220
    const needed = this.rowHeight * 1.15 * devicePixelRatio
    this.thumbnailHeight = THUMBNAIL_HEIGHTS.find((height) => height >= needed) ?? THUMBNAIL_HEIGHTS.at(-1)
    this.layout = new Layout(this.assets, width, this.rowHeight, this.#list?.hasOwnOrder)
    this.canvas.style.height = `${this.layout.height}px`
    // Cells of pictures that stay keep their elements, so nothing flickers.
    const focused = document.activeElement?.closest(".cell")?.asset
    const old = new Map([...this.#cells.values()].map((cell) => [cell.asset.id, cell]))
    this.#old = old
    for (const heading of this.#headings.values()) heading.remove()
    this.#cells.clear()
    this.#headings.clear()
    if (kept) {
      const index = this.assets.findIndex((asset) => asset.id === kept.id)
      if (index >= 0) this.element.scrollTop = this.layout.tops[this.layout.rowOf(index)] - distance
    }
    this.draw()
    this.#old = new Map()
    for (const cell of old.values()) cell.remove()
    if (focused) {
      const index = this.assets.findIndex((asset) => asset.id === focused.id)
      if (index >= 0 && index !== this.#focused) this.focus(index, false)
    }
    this.emit("layout")
    if (isNew) this.#schedule()
  }

  /// Draws the badges of the visible pictures again.
  mark() {
    for (const cell of this.#cells.values()) this.#mark(cell)
  }

  say(message) {
    this.empty.textContent = message
    this.empty.hidden = !message
  }

  // Drawing

  #schedule() {
    if (this.#frame === 0) this.#frame = requestAnimationFrame((time) => { this.#frame = 0; this.#scrolled(time) })
    clearTimeout(this.#settle)
    this.#settle = setTimeout(() => { this.#isFast = false; this.draw(); this.#report() }, 120)
  }

  #scrolled(time) {
    const top = this.element.scrollTop
    const speed = Math.abs(top - this.#lastTop) / Math.max(1, time - this.#lastTime)
    this.#lastTop = top
    this.#lastTime = time
    // In a fling, placeholders are enough: pictures would arrive after their cells have gone.
    this.#isFast = speed * 300 > this.element.clientHeight
    this.draw()
    if (this.#windowTimer === 0) this.#windowTimer = setTimeout(() => { this.#windowTimer = 0; this.#report() }, 150)
  }

  draw() {
    const top = this.element.scrollTop, height = this.element.clientHeight
    const range = this.layout.visible(top - height * 0.5, top + height * 1.5)
    const [first, last] = range ?? [0, -1]
    for (const [index, cell] of this.#cells) {
      if (index < first || index > last) { cell.remove(); this.#cells.delete(index) }
    }
    for (let index = first; index <= last; index++) {
      const cell = this.#cells.get(index) ?? this.#makeCell(index)
      if (!this.#isFast && !cell.image.src) cell.image.src = this.thumbnail(cell.asset)
    }
    this.#drawHeadings(top - height, top + height * 2)
    this.emit("scroll")
  }

  #drawHeadings(top, bottom) {
    for (const [month, heading] of this.#headings) {
      if (heading.offsetTop < top || heading.offsetTop > bottom) { heading.remove(); this.#headings.delete(month) }
    }
    for (const { month, top: y, left } of this.layout.months) {
      if (month === null || y < top || y > bottom || this.#headings.has(month)) continue
      const heading = make("h2")
      heading.textContent = monthName(month)
      Object.assign(heading.style, { top: `${y}px`, insetInlineStart: `${left}px` })
      this.canvas.append(heading)
      this.#headings.set(month, heading)
    }
  }

  thumbnail(asset) {
    return imageURL(asset, this.thumbnailHeight * 3, this.thumbnailHeight, { contentMode: "aspectFit" })
  }

  #makeCell(index) {
    const asset = this.assets[index]
    const row = this.layout.rowOf(index)
    const old = this.#old.get(asset.id)
    const cell = old?.asset.version === asset.version ? old : this.#newCell(asset)
    if (cell === old) this.#old.delete(asset.id)
    cell.asset = asset
    cell.dataset.index = index
    cell.tabIndex = index === this.#focused ? 0 : -1
    Object.assign(cell.style, {
      insetInlineStart: `${this.layout.lefts[index]}px`, top: `${this.layout.tops[row]}px`,
      width: `${this.layout.widths[index]}px`, height: `${this.layout.heights[row]}px`,
    })
    this.#mark(cell)
    if (!cell.isConnected) this.canvas.append(cell)
    this.#cells.set(index, cell)
    return cell
  }

  #newCell(asset) {
    const cell = make("div")
    cell.className = "cell"
    cell.role = "button"
    cell.draggable = this.canDrag
    if (asset.placeholder) cell.style.backgroundImage = `url(${placeholderURL(asset.placeholder)})`
    const image = make("img")
    image.alt = ""
    image.decoding = "async"
    image.draggable = false
    image.onload = () => cell.classList.add("ready")
    image.onerror = () => cell.classList.add("missing")
    cell.image = image
    // For the pointer; keys select with Space.
    const check = make("span")
    check.className = "check"
    cell.marks = make("span")
    cell.marks.className = "badges"
    cell.append(image, check, cell.marks)
    return cell
  }

  /// Shows what may change while the picture stays: the selection, badges, the name.
  #mark(cell) {
    const { asset } = cell
    const isSelected = this.selection.has(asset.id)
    cell.classList.toggle("selected", isSelected)
    if (this.selection.size > 0) cell.ariaPressed = isSelected
    else cell.ariaPressed = null
    cell.classList.toggle("stack", !!asset.isBurst)
    const found = badges(asset)
    const kinds = found.map(({ kind }) => kind).join()
    if (cell.kinds === kinds) return
    cell.kinds = kinds
    cell.marks.replaceChildren(...found.map(({ kind, label }) =>
      make("span", { className: `badge ${kind}`, textContent: label })))
    const name = text(asset.type === "video" ? "videoOf" : "photoOf", { date: dayName(asset.date, asset.offset) })
    cell.ariaLabel = [name, ...found.map(({ name }) => name)].join(", ")
  }

  // The preheat window

  #report() {
    const top = this.element.scrollTop
    const visible = this.layout.visible(top, top + this.element.clientHeight)
    if (!visible || !this.#list?.handle) return
    const body = {
      client, fetchResult: this.#list.handle, visible: [visible[0], Math.min(visible[1], visible[0] + 999)], margin: 60,
      targetSize: `${this.thumbnailHeight * 3}x${this.thumbnailHeight}`, contentMode: "aspectFit",
    }
    const now = JSON.stringify(body)
    // The same range twice says that the scroll has ended.
    if (now === this.#reported && this.#windowTimer === 0) this.#reported = ""
    else this.#reported = now
    json("/v1/cachingManagers/default/window", { method: "PUT", body })
      .then((state) => this.emit("window", state))
      .catch(() => {})
  }

  static get client() { return client }

  // Selection and keys

  select(selection) {
    this.selection = selection
    this.element.classList.toggle("selecting", selection.size > 0)
    for (const cell of this.#cells.values()) this.#mark(cell)
    this.emit("selection")
  }

  #toggle(index, isRange) {
    const selection = new Set(this.selection)
    if (isRange && this.#anchor !== null) {
      const [low, high] = [Math.min(this.#anchor, index), Math.max(this.#anchor, index)]
      for (let item = low; item <= high; item++) selection.add(this.assets[item].id)
    } else {
      const { id } = this.assets[index]
      if (!selection.delete(id)) selection.add(id)
      this.#anchor = index
    }
    this.select(selection)
  }

  #click(event) {
    const cell = event.target.closest(".cell")
    if (!cell || this.#suppressClick) { this.#suppressClick = false; return }
    const index = Number(cell.dataset.index)
    const isSelecting = event.target.closest(".check") || event.ctrlKey || event.metaKey || event.shiftKey
    if (isSelecting || this.selection.size > 0) this.#toggle(index, event.shiftKey)
    else this.emit("open", index)
    this.focus(index, false)
  }

  #suppressClick = false

  /// A long press selects; moving on over other cells selects these too.
  #press(event) {
    const cell = event.target.closest(".cell")
    if (!cell || event.button !== 0 || event.target.closest(".check")) return
    const first = Number(cell.dataset.index)
    const start = { x: event.clientX, y: event.clientY }
    let isSelecting = false
    const timer = setTimeout(() => {
      isSelecting = this.#isPressed = true
      this.#suppressClick = true
      this.#toggle(first, false)
    }, LONG_PRESS)
    const move = (next) => {
      if (!isSelecting) {
        if (Math.hypot(next.clientX - start.x, next.clientY - start.y) > 8) end()
        return
      }
      const over = document.elementFromPoint(next.clientX, next.clientY)?.closest(".cell")
      if (over) this.#toggle(Number(over.dataset.index), true)
    }
    const end = () => {
      clearTimeout(timer)
      this.#isPressed = false
      removeEventListener("pointermove", move)
      removeEventListener("pointerup", end)
      removeEventListener("pointercancel", end)
    }
    on(window, "pointermove", move)
    on(window, "pointerup", end)
    on(window, "pointercancel", end)
  }

  #key(event) {
    if (this.assets.length === 0 || event.target.closest("input")) return
    const last = this.assets.length - 1
    const isRTL = getComputedStyle(this.element).direction === "rtl"
    const steps = {
      ArrowRight: () => this.#focused + (isRTL ? -1 : 1), ArrowLeft: () => this.#focused + (isRTL ? 1 : -1),
      ArrowDown: () => this.layout.neighbour(this.#focused, 1), ArrowUp: () => this.layout.neighbour(this.#focused, -1),
      Home: () => 0, End: () => last,
    }
    if (steps[event.key]) {
      const index = Math.min(last, Math.max(0, steps[event.key]()))
      if (event.shiftKey) this.#toggle(index, true)
      this.focus(index)
    } else if (event.key === "Enter") {
      this.emit("open", this.#focused)
    } else if (event.key === " ") {
      this.#toggle(this.#focused, event.shiftKey)
    } else if (event.key === "Escape" && this.selection.size > 0) {
      this.select(new Set())
    } else if (event.key === "a" && (event.ctrlKey || event.metaKey)) {
      this.select(new Set(this.assets.map((asset) => asset.id)))
    } else {
      return
    }
    event.preventDefault()
  }

  /// Moves the keyboard focus to an asset, and scrolls to it if it is outside of the screen.
  focus(index, isScrolling = true) {
    const before = this.#cells.get(this.#focused)
    if (before) before.tabIndex = -1
    this.#focused = index
    if (isScrolling) this.reveal(index)
    const cell = this.#cells.get(index)
    if (cell) { cell.tabIndex = 0; cell.focus({ preventScroll: true }) }
  }

  reveal(index) {
    if (index < 0 || index >= this.assets.length) return
    const row = this.layout.rowOf(index)
    const top = this.layout.tops[row], bottom = top + this.layout.heights[row]
    const height = this.element.clientHeight
    if (top < this.element.scrollTop) this.element.scrollTop = top - 70
    else if (bottom > this.element.scrollTop + height) this.element.scrollTop = bottom - height + 20
    this.draw()
  }

  /// Where an asset is on the screen, for the viewer's opening.
  cell(index) { return this.#cells.get(index) }
}

/// What a picture's corner says about it.
function badges(asset) {
  const found = []
  const add = (kind, label, name = label) => found.push({ kind, label, name })
  if (asset.isFavorite) add("favourite", "♥", text("favourite"))
  if (asset.isBurst) add("burst", text("burst"))
  if (asset.subtypes.includes("photoLive")) add("live", text("live"))
  if (asset.subtypes.includes("photoHDR")) add("hdr", text("hdr"))
  if (asset.isRAW) add("raw", text("raw"))
  if (asset.type === "video") add("video", seconds(asset.duration))
  return found
}
