// The sign-in, questions and messages.

import { post } from "./api.js"
import { $, button, make } from "./dom.js"
import { text } from "./strings.js"

/// Asks for a token until there is a session.
export function signIn(signedIn) {
  const dialog = $("signIn"), [form] = dialog.children
  form.onsubmit = async (event) => {
    event.preventDefault()
    try {
      await post("/v1/session", { token: form.token.value.trim() })
      dialog.close()
      form.reset()
      signedIn()
    } catch (error) {
      form.querySelector("p").textContent = error.status === 401 ? text("wrongToken") : error.message
    }
  }
  dialog.oncancel = (event) => event.preventDefault()
  if (!dialog.open) dialog.showModal()
}

/// Asks for a text, or with `value` null for consent. Resolves with it, true, or null.
export function ask(title, value = "", choices = []) {
  const dialog = $("question")
  const input = value === null ? null : make("input", { value, required: true, ariaLabel: title })
  const list = make("datalist", { id: "choices" }, ...choices.map((choice) => make("option", { value: choice })))
  input?.setAttribute("list", list.id)
  dialog.returnValue = ""
  dialog.replaceChildren(make("form", { method: "dialog" },
    make("h2", {}, title), ...(input ? [input, list] : []),
    make("div.buttons", {}, button(text("cancel"), () => dialog.close()), make("button.primary", { value: "yes" }, text("ok")))))
  dialog.showModal()
  return new Promise((resolve) => {
    dialog.onclose = () => resolve(dialog.returnValue === "yes" ? input?.value.trim() ?? true : null)
  })
}

/// Shows a failure, unless the sign-in is shown.
export function report(error) {
  if (error.status !== 401) say(error instanceof TypeError ? text("connectionLost") : error.message)
}

export function say(message, undo) {
  const line = make("p.card", {}, message)
  if (undo) line.append(button(text("undo"), () => { line.remove(); undo() }))
  placeMessages()
  $("messages").append(line)
  setTimeout(() => line.remove(), undo ? 10000 : 6000)
}

/// In front of an open viewer, which is in the top layer.
export const placeMessages = () => ($("viewer").open ? $("viewer") : document.body).append($("messages"))
