// Small helpers for elements and events.

/// A new element with properties and children.
export function make(name, properties = {}, ...children) {
  const element = Object.assign(document.createElement(name), properties)
  element.append(...children)
  return element
}

export const on = (target, type, handler, options) => target.addEventListener(type, handler, options)

/// Something that other modules listen to.
export class Emitter extends EventTarget {
  emit(type, detail) { this.dispatchEvent(new CustomEvent(type, { detail })) }
}
