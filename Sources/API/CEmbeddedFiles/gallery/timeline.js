// The grid: cells near the screen, months' names, a preheat window that follows the scroll, and years at the side.

import { visit } from "./address.js"
import { client, imageURL, json, rights } from "./api.js"
import { $, all, clamp, forward, make, on, page } from "./dom.js"
import { Layout } from "./layout.js"
import { dayName, monthName, seconds, text } from "./strings.js"
import { placeholderURL } from "./thumbhash.js"

/// Few sizes, so that windows of all widths share caches.
const HEIGHTS = [160, 240, 320, 480]
/// Milliseconds until a press selects, until a scroll has ended, between windows.
const LONG_PRESS = 450
const SETTLED = 120
const WINDOW = 150
const THUMB_HEIGHT = 20
const LABEL_HEIGHT = 22

export const element = $("timeline")
/// Identifiers.
export let selection = new Set()
let anchor = null
export let layout = new Layout([], 1000, 200)
export let list = null
export const assets = () => list?.items ?? []
const ids = () => assets().map(({ id }) => id)
export const indexOf = (id) => ids().indexOf(id)
export const selected = () => ids().filter((id) => selection.has(id))
export const cellAt = (index) => cells.get(index)

const canvas = element.appendChild(make("div.canvas"))
const empty = element.appendChild(make("section.empty", { role: "status" }))
const cells = new Map()
const strip = $("scrubber")
const thumb = strip.appendChild(make("div.thumb"))
const bubble = strip.appendChild(make("div.bubble.card"))
/// How far list and thumb move. Reading sizes costs a layout.
let scrollable = 1, track = 0, shownMonth
/// Of the former layout, by identifier; used again against flicker.
let formerCells = new Map()
let rowHeight, thumbnailHeight
let focusedIndex = 0
let lastTop = 0, lastTime = 0, isFast = false
let frame = 0, settling = 0, windowTimer = 0, reported = ""
let hasPressed = false, ignoresClick = false

on(element, "scroll", schedule)
on(element, "keydown", key)
on(canvas, "click", click)
on(canvas, "pointerdown", press)
// After a long press, the selection moves, not the picture.
on(canvas, "dragstart", (event) => { if (hasPressed) event.preventDefault() })
new ResizeObserver(() => relayout()).observe(element)

/// If the list has only changed, what is on the screen stays where it is.
export function show(shown) {
  if (list === shown) {
    relayout()
    // Without those that are gone.
    const left = selected()
    if (left.length < selection.size) select(new Set(left))
    return
  }
  list = shown
  focusedIndex = 0
  anchor = null
  element.scrollTop = 0
  select()
  relayout()
  retry()
}

function relayout() {
  const width = canvas.clientWidth
  if (width === 0) return
  const top = element.scrollTop
  const visible = top < 1 ? null : layout.visible(top, top + element.clientHeight)
  const kept = visible && cells.get(visible[0])?.asset
  const distance = visible ? layout.rowOf(visible[0]).top - top : 0
  rowHeight = width < 500 ? 112 : width < 1200 ? 180 : width < 2000 ? 220 : 260
  thumbnailHeight = HEIGHTS.find((height) => height >= rowHeight * 1.15 * devicePixelRatio) ?? HEIGHTS.at(-1)
  layout = new Layout(assets(), width, rowHeight, list?.hasOwnOrder)
  canvas.style.height = `${layout.height}px`
  const focused = document.activeElement.closest(".cell")
  formerCells = new Map([...cells.values()].map((cell) => [cell.asset.id, cell]))
  cells.clear()
  for (const heading of all(".canvas h2")) heading.remove()
  for (const { month, top: y, left } of layout.months) {
    if (month !== null) canvas.append(make("h2", { style: { top: `${y}px`, insetInlineStart: `${left}px` } }, monthName(month)))
  }
  const keptIndex = kept ? indexOf(kept.id) : -1
  if (keptIndex >= 0) element.scrollTop = layout.rowOf(keptIndex).top - distance
  const focusedBefore = focusedIndex
  draw()
  if (focused) {
    const index = indexOf(focused.asset.id)
    focus(index < 0 ? Math.min(focusedBefore, assets().length - 1) : index, false)
  }
  formerCells.forEach(discard)
  formerCells.clear()
  // The window ended with its handle. The viewer has its own.
  if (!$("viewer").open) reportSoon()
  drawYears()
}

export const markAll = () => cells.forEach(mark)

export function retry() {
  for (const cell of all(".missing")) {
    cell.classList.remove("missing")
    cell.imageHeight = 0
  }
  schedule()
}

/// In the place of pictures.
export function say(message, ...actions) {
  empty.hidden = !message
  empty.replaceChildren(make("p", {}, message), ...actions)
}

function schedule() {
  if (frame === 0) frame = requestAnimationFrame(scrolled)
  clearTimeout(settling)
  settling = setTimeout(() => { isFast = false; draw(); reportWindow(true) }, SETTLED)
}

function scrolled(time) {
  frame = 0
  const top = element.scrollTop
  const speed = Math.abs(top - lastTop) / Math.max(1, time - lastTime)
  lastTop = top
  lastTime = time
  // In a fling, pictures would arrive after their cells have gone.
  isFast = speed * 300 > element.clientHeight
  draw()
  reportSoon()
}

function reportSoon() {
  if (windowTimer === 0) windowTimer = setTimeout(() => { windowTimer = 0; reportWindow() }, WINDOW)
}

function draw() {
  const { scrollTop: top, clientHeight: height } = element
  const [first, last] = layout.visible(top - height * 0.5, top + height * 1.5) ?? [0, -1]
  for (const [index, cell] of cells) {
    // The focused one stays, so that keys go on.
    if ((index < first || index > last) && cell !== document.activeElement) { discard(cell); cells.delete(index) }
  }
  for (let index = first; index <= last; index++) {
    const cell = cells.get(index) ?? makeCell(index)
    if (!isFast && !(cell.imageHeight >= thumbnailHeight)) {
      cell.imageHeight = thumbnailHeight
      cell.image.src = imageURL(cell.asset, thumbnailHeight * 3, thumbnailHeight, { contentMode: "aspectFit" })
    }
  }
  // Tab reaches the grid wherever it is.
  const stop = cells.get(focusedIndex) ?? cells.get(focusedIndex = first)
  if (stop) stop.tabIndex = 0
  moveThumb(top)
}

/// Its request ends: others wait.
function discard(cell) {
  if (!cell.image.complete) cell.image.removeAttribute("src")
  cell.remove()
}

function makeCell(index) {
  const asset = assets()[index], { top, height } = layout.rowOf(index)
  let cell = formerCells.get(asset.id)
  if (cell?.asset.contentVersion === asset.contentVersion) formerCells.delete(asset.id)
  else cell = newCell(asset)
  cell.asset = asset
  cell.dataset.index = index
  cell.tabIndex = index === focusedIndex ? 0 : -1
  Object.assign(cell.style, {
    insetInlineStart: `${layout.lefts[index]}px`, top: `${top}px`, width: `${layout.widths[index]}px`, height: `${height}px`,
  })
  mark(cell)
  if (!cell.isConnected) canvas.append(cell)
  cells.set(index, cell)
  return cell
}

function newCell({ placeholder }) {
  const cell = make("div.cell", { role: "button", draggable: rights.canWrite })
  if (placeholder) cell.style.backgroundImage = `url(${placeholderURL(placeholder)})`
  cell.image = make("img", {
    decoding: "async", onload: () => cell.classList.add("ready"), onerror: () => cell.classList.add("missing"),
  })
  cell.marks = make("span.badges")
  // The check is for the pointer; keys select with Space.
  cell.append(cell.image, make("span.check"), cell.marks)
  return cell
}

/// What may change while the picture stays.
function mark(cell) {
  const { asset } = cell, isSelected = selection.has(asset.id)
  cell.classList.toggle("selected", isSelected)
  cell.ariaPressed = selection.size > 0 ? isSelected : null
  cell.classList.toggle("stack", !!asset.representsBurst)
  const found = badges(asset)
  if (cell.kinds === found.join()) return
  cell.kinds = found.join()
  cell.marks.replaceChildren(...found.map(([kind, name]) => make(`span.badge.${kind}`, {}, kind === "favourite" ? "♥" : name)))
  const name = text(asset.mediaType === "video" ? "videoOf" : "photoOf", { date: dayName(asset) })
  cell.ariaLabel = [name, ...found.map(([, name]) => name)].join(", ")
}

/// [kind, name] of each.
function badges({ isFavorite, representsBurst, mediaSubtypes, isRAW, mediaType, duration }) {
  const names = {
    favourite: isFavorite && text("favourite"), burst: representsBurst && text("burst"),
    live: mediaSubtypes.includes("photoLive") && text("live"), hdr: mediaSubtypes.includes("photoHDR") && text("hdr"),
    raw: isRAW && text("raw"), video: mediaType === "video" && seconds(duration),
  }
  return Object.entries(names).filter(([, name]) => name)
}

/// The same range twice says that the scroll has ended.
function reportWindow(hasSettled = false) {
  const top = element.scrollTop, visible = layout.visible(top, top + element.clientHeight)
  if (!visible || !list?.handle) return
  const next = {
    client, visible: [visible[0], Math.min(visible[1], visible[0] + 999)], margin: 60, targetSize: `${thumbnailHeight * 3}x${thumbnailHeight}`,
  }
  const now = JSON.stringify([list.handle.id, next])
  if (now === reported && !hasSettled) return
  reported = now
  prepare(next)
}

export function prepare(next) {
  if (!list) return
  const body = { ...next, fetchResult: list.handle.id, contentMode: "aspectFit", options: { networkAccessAllowed: true } }
  json("/v1/cachingManagers/default/window", { method: "PUT", body }).catch(() => {})
}

export function select(next = new Set()) {
  selection = next
  element.classList.toggle("selecting", selection.size > 0)
  markAll()
  page.emit("selection")
}

function toggle(index, isRange) {
  const next = new Set(selection), start = indexOf(anchor)
  if (isRange && start >= 0) {
    for (const id of ids().slice(Math.min(start, index), Math.max(start, index) + 1)) next.add(id)
  } else {
    anchor = assets()[index].id
    if (!next.delete(anchor)) next.add(anchor)
  }
  select(next)
}

/// Not while another list is being loaded.
const open = (index) => list.isClosed || visit({ asset: assets()[index].id })

function click(event) {
  const cell = event.target.closest(".cell")
  if (!cell || ignoresClick) { ignoresClick = false; return }
  const index = Number(cell.dataset.index)
  const isSelecting = event.target.closest(".check") || event.ctrlKey || event.metaKey || event.shiftKey
  if (isSelecting || selection.size > 0) toggle(index, event.shiftKey)
  else open(index)
  focus(index, false)
}

/// A long press selects; moving on selects other cells.
function press({ target, button, clientX, clientY }) {
  const cell = target.closest(".cell")
  ignoresClick = false
  if (!cell || button !== 0 || target.closest(".check")) return
  const listening = new AbortController(), { signal } = listening
  const end = () => {
    clearTimeout(timer)
    hasPressed = false
    listening.abort()
  }
  const timer = setTimeout(() => {
    hasPressed = ignoresClick = true
    toggle(Number(cell.dataset.index), false)
  }, LONG_PRESS)
  on(window, "pointermove", (event) => {
    const hasMoved = Math.hypot(event.clientX - clientX, event.clientY - clientY) > 8
    if (!hasPressed) return hasMoved && end()
    const over = document.elementFromPoint(event.clientX, event.clientY)?.closest(".cell")
    if (over) toggle(Number(over.dataset.index), true)
  }, { signal })
  on(window, "pointerup pointercancel", end, { signal })
}

function key(event) {
  const last = assets().length - 1
  if (last < 0) return
  const steps = {
    ArrowRight: focusedIndex + forward(element), ArrowLeft: focusedIndex - forward(element),
    ArrowDown: layout.neighbour(focusedIndex, 1), ArrowUp: layout.neighbour(focusedIndex, -1), Home: 0, End: last,
  }
  if (event.key in steps) {
    const index = clamp(steps[event.key], 0, last)
    if (event.shiftKey) toggle(index, true)
    focus(index)
  } else if (event.key === "Enter") open(focusedIndex)
  else if (event.key === " ") toggle(focusedIndex, event.shiftKey)
  else if (event.key === "Escape" && selection.size > 0) select()
  else if (event.key === "a" && (event.ctrlKey || event.metaKey)) select(new Set(ids()))
  else return
  event.preventDefault()
}

export function focus(index = focusedIndex, isScrolling = true) {
  const before = cells.get(focusedIndex)
  if (before) before.tabIndex = -1
  focusedIndex = index
  if (isScrolling) reveal(index)
  if (!assets()[index]) return
  const cell = cells.get(index) ?? makeCell(index)
  cell.tabIndex = 0
  cell.focus({ preventScroll: true })
}

/// With `isPartEnough`, only to a picture of which nothing is seen.
export function reveal(index, isPartEnough = false) {
  if (index < 0 || index >= assets().length) return
  const { top, height } = layout.rowOf(index), bottom = top + height
  const { scrollTop, clientHeight } = element
  if ((isPartEnough ? bottom : top) < scrollTop) element.scrollTop = top - 70
  else if ((isPartEnough ? top : bottom) > scrollTop + clientHeight) element.scrollTop = bottom - clientHeight + 20
  draw()
}

on(strip, "pointerdown", (event) => {
  strip.setPointerCapture(event.pointerId)
  strip.classList.add("active")
  jump(event)
})
on(strip, "pointermove", (event) => { if (strip.hasPointerCapture(event.pointerId)) jump(event) })
on(strip, "lostpointercapture", () => strip.classList.remove("active"))

function drawYears() {
  for (const label of all(".year")) label.remove()
  strip.hidden = layout.months.length < 2
  scrollable = Math.max(1, layout.height - element.clientHeight)
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
  moveThumb(element.scrollTop)
}

function moveThumb(top) {
  const { month } = layout.monthAt(top + 40) ?? {}
  thumb.style.translate = bubble.style.translate = `0 ${top / scrollable * track}px`
  if (month !== shownMonth) bubble.textContent = month ? monthName(month) : ""
  shownMonth = month
}

function jump({ clientY }) {
  const { top, height } = strip.getBoundingClientRect()
  element.scrollTop = clamp((clientY - top) / height, 0, 1) * scrollable
}
