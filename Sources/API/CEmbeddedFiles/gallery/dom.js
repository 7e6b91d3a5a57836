// Elements, icons and events.

import { text } from "./strings.js"

export const $ = (id) => document.getElementById(id)
export const all = (selector) => document.querySelectorAll(selector)

/// make("div.cell", {title: "…", style: {top: "9px"}}, "text", child). A dragged image would be dropped as a file.
export function make(kind, { style, dataset, ...properties } = {}, ...children) {
  const [name, ...classes] = kind.split(".")
  const element = Object.assign(document.createElement(name), name === "img" && { alt: "", draggable: false }, properties)
  element.classList.add(...classes)
  Object.assign(element.style, style)
  Object.assign(element.dataset, dataset)
  element.append(...children)
  return element
}

/// `types` are separated by spaces.
export function on(target, types, handler, options) {
  for (const type of types.split(" ")) target.addEventListener(type, handler, options)
}

/// `content` is a text, an element or a list of them.
export const button = (content, onclick, properties) =>
  make("button", { type: "button", onclick, ...properties }, ...[content].flat())

/// Icons: paths in 24 × 24 units, by the key of their text.
const paths = {
  addPhotographs: "M12 5v14M5 12h14",
  addToAnAlbum: "M4 7h16v12H4zM7 4h10M12 10v6M9 13h6",
  close: "M6 6l12 12M18 6L6 18",
  collections: "M4 6h16M4 12h16M4 18h16",
  delete: "M5 7h14M10 7V5h4v2M7 7l1 13h8l1-13",
  download: "M12 4v11M8 11l4 4 4-4M5 20h14",
  edit: "M4 20l1-5L16 4l4 4L9 19zM14 6l4 4",
  favourite: "M12 20s-7-4.6-9-9a5 5 0 0 1 9-4 5 5 0 0 1 9 4c-2 4.4-9 9-9 9z",
  details: "M12 3a9 9 0 1 0 0 18 9 9 0 0 0 0-18zM12 11v6M12 7.5v.5",
  newFolder: "M3 6h6l2 2h10v11H3zM12 11v5M9.5 13.5h5",
  next: "M9 5l7 7-7 7",
  playTheLivePhoto: "M12 9a3 3 0 1 0 0 6 3 3 0 0 0 0-6zM12 3a9 9 0 1 0 0 18 9 9 0 0 0 0-18z",
  previous: "M15 5l-7 7 7 7",
  removeFromThisAlbum: "M4 7h16v12H4zM7 4h10M9 13h6",
  service: "M4 18l5-7 4 4 7-9",
  share: "M12 15V4M8 8l4-4 4 4M5 13v7h14v-7",
  show: "M3 12s3-6 9-6 9 6 9 6-3 6-9 6-9-6-9-6z",
  signOut: "M14 5H6v14h8M10 12h10M17 9l3 3-3 3",
}
Object.assign(paths, { newAlbum: paths.addPhotographs, rename: paths.edit, clearTheSelection: paths.close, hide: `${paths.show}M4 20L20 4` })

/// Draws the icon of a text, which is also its name and tooltip.
export function drawIcon(element, key) {
  element.innerHTML = `<svg viewBox="0 0 24 24" aria-hidden="true"><path d="${paths[key]}"/></svg>`
  element.title = element.ariaLabel = text(key)
  return element
}

export const iconButton = (key, action, className = "icon") => drawIcon(button("", action, { className }), key)

export const clamp = (value, low, high) => Math.min(high, Math.max(low, value))

/// 1, or -1 where the next one is on the left.
export const forward = (element) => getComputedStyle(element).direction === "rtl" ? -1 : 1

export class Emitter extends EventTarget {
  emit(type, detail) { this.dispatchEvent(new CustomEvent(type, { detail })) }
}

export const page = new Emitter()
