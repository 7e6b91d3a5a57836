// Edits a picture: crop, straighten, turns and sliders. The daemon renders each state as a preview; saving stores the
// operations as adjustments, and the original is not changed.

import { imageURL, json, request } from "/gallery/api.js"
import { Emitter, make, on } from "/gallery/dom.js"
import { text } from "/gallery/strings.js"

/// Tone operations with their parameter, and the ends of their range.
const TONES = [
  ["exposure", "ev", -3, 3], ["brightness"], ["contrast"], ["highlights"], ["shadows"], ["saturation"], ["vibrance"],
  ["warmth"], ["tint"], ["sharpness", "amount", 0, 1], ["noiseReduction", "amount", 0, 1], ["blackAndWhite", "amount", 0, 1],
  ["vignette"],
]
/// The order in which operations are applied. The crop is drawn on the straightened and turned picture.
const ORDER = ["straighten", "flip", "rotate", "crop", ...TONES.map(([name]) => name)]
const WHOLE = [0, 0, 1, 1]

export class Editor extends Emitter {
  #base = []
  #state = new Map()
  #isCropping = false
  #running = null
  #timer = 0

  /// `client` names the previews: each cancels the one before it.
  constructor(dialog, asset, client) {
    super()
    Object.assign(this, { asset, client })
    this.picture = make("img", { alt: "", draggable: false })
    this.box = make("div", { className: "cropBox", tabIndex: 0, role: "group", ariaLabel: text("cropKeys"), hidden: true },
      ...["nw", "ne", "se", "sw"].map((corner) => make("i", { className: corner })))
    on(this.box, "pointerdown", (event) => this.#drag(event))
    on(this.box, "keydown", (event) => this.#keys(event))
    this.panel = make("form", { className: "editPanel" })
    this.element = dialog.appendChild(make("div", { className: "editor" },
      make("div", { className: "editStage" }, make("div", {}, this.picture, this.box)), this.panel))
    this.#load()
  }

  async #load() {
    const saved = await json(`/v1/assets/${this.asset.id}/adjustments`).catch(() => null)
    const operations = saved?.operations ?? []
    const places = operations.map(({ type }) => ORDER.indexOf(type))
    // What this page would write is shown in its controls; anything else stays, and edits come after it.
    if (places.every((place, index) => place >= 0 && place > (places[index - 1] ?? -1))) {
      for (const operation of operations) this.#state.set(operation.type, operation)
    } else this.#base = operations
    this.isEdited = operations.length > 0
    this.#draw()
    this.#render()
  }

  get #operations() {
    const isLeftOut = (type) => type === "crop" && this.#isCropping
    return [...this.#base, ...ORDER.filter((type) => this.#state.has(type) && !isLeftOut(type)).map((type) => this.#state.get(type))]
  }

  #set(type, operation) {
    if (operation) this.#state.set(type, { type, ...operation })
    else this.#state.delete(type)
    this.#render()
  }

  // Controls

  #draw() {
    const press = (name, action, more = {}) => {
      const button = make("button", { type: "button", textContent: text(name), ...more })
      on(button, "click", () => action(button))
      return button
    }
    const slider = (name, value, low, high, action) => {
      const input = make("input", { type: "range", min: low, max: high, step: (high - low) / 200, value })
      on(input, "input", () => action(input.valueAsNumber))
      on(input, "dblclick", () => { input.value = 0; action(0) })
      return make("label", {}, make("span", { textContent: text(name) }), input)
    }
    this.panel.replaceChildren(
      make("p", {},
        press("crop", (button) => { button.ariaPressed = this.#isCropping = !this.#isCropping; this.#render() }, { ariaPressed: false }),
        press("turn", () => this.#turn()),
        press("flip", () => this.#set("flip", this.#state.has("flip") ? null : { axis: "horizontal" })),
        press("compare", (button) => { button.ariaPressed = button.ariaPressed !== "true"; this.#render(button.ariaPressed === "true") },
          { ariaPressed: false })),
      slider("straighten", this.#state.get("straighten")?.degrees ?? 0, -15, 15,
        (degrees) => this.#set("straighten", degrees && { degrees })),
      ...TONES.map(([name, parameter = "amount", low = -1, high = 1]) => slider(
        name, this.#state.get(name)?.[parameter] ?? 0, low, high,
        (value) => this.#set(name, value && { [parameter]: value, ...(name === "vignette" ? { radius: 0.5 } : {}) }))),
      make("p", { className: "end" },
        press("cancel", () => this.close()), press("revert", () => this.#save([]), { hidden: !this.isEdited }),
        press("save", () => this.#save(this.#operations), { className: "primary" })))
    this.panel.querySelector("button").focus()
  }

  #turn() {
    const quarterTurns = ((this.#state.get("rotate")?.quarterTurns ?? 0) + 1) % 4
    const crop = this.#state.get("crop")?.rect
    // The crop turns with the picture.
    if (crop) this.#state.set("crop", { type: "crop", rect: [1 - crop[1] - crop[3], crop[0], crop[3], crop[2]] })
    this.#set("rotate", quarterTurns && { quarterTurns })
  }

  // The preview

  #render(isOriginal = false) {
    const [x, y, width, height] = this.#state.get("crop")?.rect ?? WHOLE
    const percent = ([name, share]) => [name, `${100 * share}%`]
    Object.assign(this.box.style, Object.fromEntries(Object.entries({ left: x, top: y, width, height }).map(percent)))
    this.box.hidden = !this.#isCropping || isOriginal
    clearTimeout(this.#timer)
    this.#timer = setTimeout(() => this.#preview(isOriginal).catch((error) => {
      if (error.name !== "AbortError") this.emit("failure", error)
    }), 30)
  }

  async #preview(isOriginal) {
    this.#running?.abort()
    const { signal } = this.#running = new AbortController()
    const stage = this.element.firstChild
    const [width, height] = [stage.clientWidth, stage.clientHeight].map((side) => Math.max(1, Math.round((side - 48) * devicePixelRatio)))
    const answer = isOriginal
      ? await request(imageURL(this.asset, width, height, { version: "unadjusted", v: null }), { signal })
      : await request(`/v1/assets/${this.asset.id}/preview`, {
        method: "POST", signal, body: { operations: this.#operations, targetSize: `${width}x${height}`, client: this.client },
      })
    const url = URL.createObjectURL(await answer.blob())
    if (signal.aborted) return URL.revokeObjectURL(url)
    const former = this.picture.src
    this.picture.src = url
    URL.revokeObjectURL(former)
  }

  // The crop

  #crop(rect) { this.#set("crop", rect.every((value, index) => value === WHOLE[index]) ? null : { rect }) }

  /// The rectangle whose corners moved by `left`, `top`, `right` and `bottom`, inside of the picture.
  #moved(left, top, right, bottom) {
    const [x, y, width, height] = this.#state.get("crop")?.rect ?? WHOLE
    const clamp = (value, low, high) => Math.min(high, Math.max(low, value))
    if (left === right && top === bottom) return [clamp(x + left, 0, 1 - width), clamp(y + top, 0, 1 - height), width, height]
    const x0 = clamp(x + left, 0, x + width - 0.05), y0 = clamp(y + top, 0, y + height - 0.05)
    return [x0, y0, clamp(x + width + right, x0 + 0.05, 1) - x0, clamp(y + height + bottom, y0 + 0.05, 1) - y0]
  }

  #drag(event) {
    event.preventDefault()
    const { className } = event.target, isCorner = event.target !== this.box
    const frame = this.picture.getBoundingClientRect()
    let { clientX, clientY } = event
    this.box.setPointerCapture(event.pointerId)
    const has = (side) => !isCorner || className.includes(side)
    this.box.onpointermove = (next) => {
      const dx = (next.clientX - clientX) / frame.width, dy = (next.clientY - clientY) / frame.height;
      ({ clientX, clientY } = next)
      this.#crop(this.#moved(has("w") && dx, has("n") && dy, has("e") && dx, has("s") && dy))
    }
    this.box.onlostpointercapture = () => { this.box.onpointermove = null }
  }

  #keys(event) {
    const step = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] }[event.key]?.map((value) => value / 50)
    if (!step) return
    event.preventDefault()
    this.#crop(event.shiftKey ? this.#moved(0, 0, ...step) : this.#moved(...step, ...step))
  }

  // The end

  async #save(operations) {
    this.#isCropping = false
    const path = `/v1/assets/${this.asset.id}/adjustments`
    try {
      await (operations.length ? request(path, { method: "PUT", body: { operations } }) : request(path, { method: "DELETE" }))
      this.close()
    } catch (error) { this.emit("failure", error) }
  }

  close() {
    clearTimeout(this.#timer)
    this.#running?.abort()
    URL.revokeObjectURL(this.picture.src)
    this.element.remove()
    this.emit("closed")
  }
}
