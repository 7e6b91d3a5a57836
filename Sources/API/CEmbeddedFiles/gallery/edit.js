// Edits a picture. The daemon renders previews; saving stores adjustments.

import { client, imageURL, request } from "./api.js"
import { ask, report } from "./dialogs.js"
import { button, clamp, make, on } from "./dom.js"
import { text } from "./strings.js"

/// Operations with their parameter, and the ends of its range.
const SLIDERS = [
  ["straighten", "degrees", -15, 15], ["exposure", "ev", -3, 3], ["brightness"], ["contrast"], ["highlights"],
  ["shadows"], ["saturation"], ["vibrance"], ["warmth"], ["tint"], ["sharpness", "amount", 0],
  ["noiseReduction", "amount", 0], ["blackAndWhite", "amount", 0], ["vignette"],
]
/// Of operations. The crop is drawn on the straightened and turned picture.
const ORDER = SLIDERS.map(([name]) => name).toSpliced(1, 0, "flip", "rotate", "crop")
const WHOLE = [0, 0, 1, 1]
const SMALLEST_CROP = 0.05

// The page has one editor. What its controls can't show is `base`, which comes first and stays.
let asset, path, closed
let base, state, hasData, isCropping, isOriginal
/// Saving replaces only the adjustments that were read.
let condition
/// Whether there are edits that are not saved.
export let hasEdits = false
let running = null, timer = 0

const picture = make("img")
const box = make("div.cropBox", { tabIndex: 0, role: "group", ariaLabel: text("cropKeys") },
  ...["nw", "ne", "se", "sw"].map((corner) => make(`i.${corner}`)))
const panel = make("form.editPanel")
const stage = make("div.editStage", {}, make("div", {}, picture, box))
const editor = make("div.editor", { tabIndex: -1 }, stage, panel)
const resizing = new ResizeObserver(render)
on(box, "pointerdown", drag)
on(box, "keydown", moveByKey)
// Keys that the viewer has too.
on(editor, "keydown", (event) => {
  event.stopPropagation()
  if (event.key !== "Escape") return
  event.preventDefault()
  leaveEdit()
})
on(window, "beforeunload", (event) => { if (hasEdits) event.preventDefault() })

export async function edit(dialog, edited, whenClosed) {
  asset = edited
  path = `/v1/assets/${asset.id}`
  closed = whenClosed
  base = []
  const opened = state = new Map()
  isCropping = isOriginal = false
  picture.removeAttribute("src")
  panel.replaceChildren()
  dialog.append(editor)
  editor.focus()
  let tag
  const found = await request(`${path}/adjustments`)
    .then((answer) => { tag = answer.headers.get("ETag"); return answer.json() }).catch((error) => error)
  const isEdited = !(found instanceof Error)
  if (state !== opened || !editor.isConnected) return
  if (!isEdited && found.status !== 404) {
    endEdit()
    return report(found)
  }
  const { operations = [], data } = found
  hasData = data != null
  condition = tag ? { "If-Match": tag } : { "If-None-Match": "*" }
  const place = (index) => ORDER.indexOf(operations[index]?.type)
  // What this page would write is shown in its controls.
  const isOwn = operations.every((operation, index) => place(index) > place(index - 1) && isShown(operation))
  if (isOwn) for (const operation of operations) state.set(operation.type, operation)
  else base = operations
  drawControls(isEdited)
  resizing.observe(stage)
}

/// Whether a control shows all that an operation does.
function isShown({ type, axis, radius = 0.5, ...values }) {
  const [, parameter = "amount", low = -1, high = 1] = SLIDERS.find(([name]) => name === type) ?? []
  const value = values[parameter] ?? 0
  return axis !== "vertical" && radius === 0.5 && value === clamp(value, low, high)
}

function operations() {
  const types = ORDER.filter((type) => state.has(type) && !(type === "crop" && isCropping))
  return [...base, ...types.map((type) => state.get(type))]
}

function set(type, operation) {
  hasEdits = true
  if (operation) state.set(type, { type, ...operation })
  else state.delete(type)
  render()
}

function drawControls(isEdited) {
  const press = (key, action, more) => button(text(key), action, more)
  const toggle = (key, action) => press(key, ({ target }) => {
    target.ariaPressed = target.ariaPressed !== "true"
    action(target.ariaPressed === "true")
    render()
  }, { ariaPressed: false })
  const slider = ([name, parameter = "amount", low = -1, high = 1]) => {
    const input = make("input", { type: "range", min: low, max: high, step: (high - low) / 200, value: state.get(name)?.[parameter] ?? 0 })
    const shown = make("output")
    const draw = () => { shown.textContent = Number(input.valueAsNumber.toFixed(2)) || "" }
    const changed = () => {
      const value = input.valueAsNumber
      draw()
      set(name, value && { [parameter]: value, ...(name === "vignette" && { radius: 0.5 }) })
    }
    on(input, "input", changed)
    on(input, "dblclick", () => { input.value = 0; changed() })
    draw()
    return make("label", {}, make("span", {}, text(name)), input, shown)
  }
  panel.replaceChildren(
    make("p", {},
      toggle("crop", (isOn) => { isCropping = isOn }), press("turn", turn),
      press("flip", mirror),
      toggle("compare", (isOn) => { isOriginal = isOn })),
    ...SLIDERS.map(slider),
    make("p.end", {},
      press("cancel", endEdit), press("revertToOriginal", () => save(), { hidden: !isEdited }),
      press("save", () => { isCropping = false; if (hasEdits) save(operations()); else endEdit() }, { className: "primary" })))
  panel.querySelector("button").focus()
}

function turn() {
  const quarterTurns = ((state.get("rotate")?.quarterTurns ?? 0) + 1) % 4
  const crop = state.get("crop")?.rect
  if (crop) set("crop", { rect: [1 - crop[1] - crop[3], crop[0], crop[3], crop[2]] })
  set("rotate", quarterTurns && { quarterTurns })
}

/// The operation comes before the turns and the crop.
function mirror() {
  const turns = state.get("rotate")?.quarterTurns, crop = state.get("crop")?.rect
  if (turns % 2) set("rotate", { quarterTurns: 4 - turns })
  if (crop) set("crop", { rect: [1 - crop[0] - crop[2], crop[1], crop[2], crop[3]] })
  set("flip", state.has("flip") ? null : { axis: "horizontal" })
}

function render() {
  const [left, top, width, height] = (state.get("crop")?.rect ?? WHOLE).map((share) => `${100 * share}%`)
  Object.assign(box.style, { left, top, width, height })
  box.hidden = !isCropping || isOriginal
  clearTimeout(timer)
  timer = setTimeout(() => preview().catch((error) => { if (error.name !== "AbortError") report(error) }), 30)
}

async function preview() {
  running?.abort()
  const { signal } = running = new AbortController()
  const [width, height] = [stage.clientWidth, stage.clientHeight].map((side) => Math.max(1, Math.round((side - 48) * devicePixelRatio)))
  const answer = isOriginal
    ? await request(imageURL(asset, width, height, { version: "unadjusted", v: null }), { signal })
    : await request(`${path}/preview`, {
      method: "POST", signal, body: { operations: operations(), targetSize: `${width}x${height}`, client },
    })
  const url = URL.createObjectURL(await answer.blob())
  if (signal.aborted) return URL.revokeObjectURL(url)
  URL.revokeObjectURL(picture.src)
  picture.src = url
  picture.style.zoom = 1 / devicePixelRatio
}

/// Moves all edges of the crop the same way, or those of a corner.
function crop(left, top, right, bottom) {
  const [x, y, width, height] = state.get("crop")?.rect ?? WHOLE
  const [x0, x1] = moved(x, x + width, left, right), [y0, y1] = moved(y, y + height, top, bottom)
  const rect = [x0, y0, x1 - x0, y1 - y0]
  set("crop", rect.every((value, index) => value === WHOLE[index]) ? null : { rect })
}

function moved(low, high, byLow, byHigh) {
  const by = clamp(byLow, -low, 1 - high)
  if (byLow === byHigh) return [low + by, high + by]
  const start = clamp(low + byLow, 0, high - SMALLEST_CROP)
  return [start, clamp(high + byHigh, start + SMALLEST_CROP, 1)]
}

function drag(event) {
  event.preventDefault()
  const { className } = event.target, isCorner = event.target !== box
  const frame = picture.getBoundingClientRect()
  let { clientX, clientY } = event
  box.setPointerCapture(event.pointerId)
  const has = (side) => !isCorner || className.includes(side)
  box.onpointermove = (next) => {
    const dx = (next.clientX - clientX) / frame.width, dy = (next.clientY - clientY) / frame.height;
    ({ clientX, clientY } = next)
    crop(has("w") && dx, has("n") && dy, has("e") && dx, has("s") && dy)
  }
  box.onlostpointercapture = () => { box.onpointermove = null }
}

function moveByKey(event) {
  const step = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] }[event.key]?.map((value) => value / 50)
  if (!step) return
  event.preventDefault()
  if (event.shiftKey) crop(0, 0, ...step)
  else crop(...step, ...step)
}

/// Keeps another program's data; without a list, nothing.
function save(list) {
  const saved = state, isKept = list?.length || (list && hasData)
  const change = isKept ? { method: "PUT", body: { operations: list, includeUnknown: true } } : { method: "DELETE" }
  request(`${path}/adjustments`, { ...change, headers: condition }).then(
    () => { if (state === saved) endEdit() },
    (error) => report([404, 412].includes(error.status) ? { message: text("changedElsewhere") } : error))
}

/// Ends the editor, unless the user keeps edits. Resolves with whether it has ended.
export async function leaveEdit() {
  if (hasEdits && !await ask(text("discardEdits"), null)) return false
  endEdit()
  return true
}

export function endEdit() {
  if (!editor.isConnected) return
  hasEdits = false
  resizing.disconnect()
  clearTimeout(timer)
  running?.abort()
  URL.revokeObjectURL(picture.src)
  editor.remove()
  closed()
}
