// Zoom and pan of the viewer's picture by wheel and pointers, and tiles of its full resolution.

import { imageURL, json } from "./api.js"
import { report } from "./dialogs.js"
import { all, clamp, make, on } from "./dom.js"

const TILE = 512
const LARGEST = 20
/// The least movements, in CSS pixels.
const SWIPE = 60
const PULL = 120

let frame, asset, gestures
let scale = 1, x = 0, y = 0
const pointers = new Map()
let canSwipe = false, tileTimer = 0

/// Calls `swipe` with -1 (left) or 1, and `pull`. The stage fills the screen.
export function followGestures(stage, actions) {
  gestures = actions
  on(stage, "wheel", wheel, { passive: false })
  on(stage, "dblclick", ({ clientX, clientY }) => scaleTo(scale > 1 ? 1 : 3, clientX, clientY))
  on(stage, "pointerdown pointermove pointerup pointercancel", pointer)
}

export function showFrame(element, shown) {
  frame = element
  asset = shown
  scale = 1
  x = y = 0
  place()
}

/// The size of a picture on the screen, in CSS pixels.
function fit({ aspectRatio }) {
  const width = Math.min(innerWidth, innerHeight * aspectRatio)
  return { width, height: width / aspectRatio }
}

export function place() {
  const { width, height } = fit(asset)
  Object.assign(frame.style, { width: `${width}px`, height: `${height}px` })
  move()
}

export const scaleBy = (factor) => scaleTo(scale * factor, innerWidth / 2, innerHeight / 2)

/// The point of the picture at (`clientX`, `clientY`) stays there.
function scaleTo(wanted, clientX, clientY) {
  const next = clamp(wanted, 1, LARGEST), factor = next / scale
  const dx = clientX - innerWidth / 2, dy = clientY - innerHeight / 2
  x = dx - (dx - x) * factor
  y = dy - (dy - y) * factor
  scale = next
  move()
}

function move() {
  const { width, height } = fit(asset)
  const inside = (offset, extent, space) => {
    const most = Math.max(0, (extent * scale - space) / 2)
    return clamp(offset, -most, most)
  }
  x = inside(x, width, innerWidth)
  y = inside(y, height, innerHeight)
  frame.style.transform = `translate(${x}px, ${y}px) scale(${scale})`
  clearTimeout(tileTimer)
  if (scale > 1.05 && asset.mediaType === "image") tileTimer = setTimeout(() => drawTiles().catch(report), 150)
  else for (const tile of all(".tile")) tile.remove()
}

function pan(dx, dy) {
  frame.classList.remove("settling")
  x += dx
  y += dy
  move()
}

function wheel(event) {
  event.preventDefault()
  const { deltaX, deltaY, clientX, clientY } = event
  if (event.ctrlKey || Math.abs(deltaY) >= Math.abs(deltaX)) scaleTo(scale * Math.exp(-deltaY / 400), clientX, clientY)
  else pan(-deltaX, 0)
}

function pointer({ type, target, currentTarget, pointerId, button, clientX, clientY }) {
  // A video has controls of its own.
  if (target.closest("video[controls]") || button > 0) return
  if (type === "pointerdown") {
    currentTarget.setPointerCapture(pointerId)
    pointers.set(pointerId, { x: clientX, y: clientY, startX: clientX, startY: clientY })
    // Two fingers stay a gesture when one is lifted.
    canSwipe = pointers.size === 1 && scale === 1
    return
  }
  const known = pointers.get(pointerId)
  if (!known) return
  const dx = clientX - known.startX, dy = clientY - known.startY, isSideways = Math.abs(dx) > Math.abs(dy)
  if (type === "pointermove") {
    const other = [...pointers.values()].find((another) => another !== known)
    if (other) {
      const distance = (x, y) => Math.max(1, Math.hypot(x - other.x, y - other.y))
      scaleTo(scale * distance(clientX, clientY) / distance(known.x, known.y), other.x, other.y)
    } else if (canSwipe) {
      frame.classList.remove("settling")
      frame.style.transform = isSideways ? `translateX(${dx}px)` : `translateY(${Math.max(0, dy)}px)`
    } else pan(clientX - known.x, clientY - known.y)
    Object.assign(known, { x: clientX, y: clientY })
    return
  }
  pointers.delete(pointerId)
  if (!canSwipe) return
  frame.classList.add("settling")
  move()
  if (type === "pointercancel") return
  if (isSideways && Math.abs(dx) > SWIPE) gestures.swipe(Math.sign(dx))
  else if (!isSideways && dy > PULL) gestures.pull()
}

/// Of the visible part: with at least the screen's pixels, and at most the original's.
async function drawTiles() {
  const shown = asset
  // Columns have no sizes.
  shown.pixelWidth ??= (await json(`/v1/assets/${asset.id}`)).pixelWidth
  const { width, height } = fit(asset), whole = asset.pixelWidth / width
  if (asset !== shown || scale === 1 || whole <= devicePixelRatio) return
  const density = Math.min(2 ** Math.ceil(Math.log2(scale)) * devicePixelRatio, whole)
  const columns = Math.ceil(width * density / TILE), rows = Math.ceil(height * density / TILE)
  const box = frame.getBoundingClientRect()
  const visible = (start, size, space, count) =>
    [Math.max(0, Math.floor(-start / size * count)), Math.min(count - 1, Math.floor((space - start) / size * count))]
  const [left, right] = visible(box.left, box.width, innerWidth, columns)
  const [top, bottom] = visible(box.top, box.height, innerHeight, rows)
  const former = new Map([...all(".tile")].map((tile) => [tile.dataset.part, tile]))
  for (let row = top; row <= bottom; row++) {
    for (let column = left; column <= right; column++) {
      const shares = [column / columns, row / rows, 1 / columns, 1 / rows]
      const part = shares.map((share) => share.toFixed(6)).join()
      if (former.delete(part)) continue
      const [x, y, w, h] = shares.map((share) => `${100 * share}%`)
      frame.append(make("img.tile", {
        dataset: { part }, style: { left: x, top: y, width: w, height: h },
        src: imageURL(asset, width * density / columns, height * density / rows, { normalizedCropRect: part }),
      }))
    }
  }
  // Those of another level stay below until the new ones have come.
  for (const tile of former.values()) {
    delete tile.dataset.part
    // Its request ends.
    if (!tile.complete) tile.removeAttribute("src")
    setTimeout(() => tile.remove(), 800)
  }
}
