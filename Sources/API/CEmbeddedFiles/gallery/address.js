// The address's fragment, and so the history, says what is shown: #collection=…&search=…&asset=….

import { query } from "./api.js"
import { $, on, page } from "./dom.js"
import { hasEdits, leaveEdit } from "./edit.js"

/// Milliseconds: browsers limit changes of the history.
const PAUSE = 300

/// {collection, search, asset}, without those that are empty.
export let address = read()
/// Of the history: {top, isOpened}, the scroll of the grid, and whether Back closes the asset.
export let entry = history.state ?? {}
let timer = 0, isLeaving = false

on(window, "popstate", async () => {
  clearTimeout(timer)
  isLeaving = false
  if (hasEdits) {
    // The editor stays until the user has answered.
    write("pushState")
    if (await leaveEdit()) history.back()
    return
  }
  address = read()
  entry = history.state ?? {}
  page.emit("address")
})
on($("timeline"), "scroll", ({ target }) => {
  entry.top = target.scrollTop
  update()
})

function read() { return Object.fromEntries(new URLSearchParams(location.hash.slice(1))) }

function write(method = "replaceState") {
  clearTimeout(timer)
  const fragment = query(address)
  history[method](entry, "", fragment ? `#${fragment}` : location.pathname)
}

const changed = (changes) =>
  Object.fromEntries(Object.entries({ ...address, ...changes }).filter(([, value]) => value))

/// Shows another view, with an entry in the history.
export function visit(changes) {
  const next = changed(changes)
  if (query(next) !== query(address)) {
    write()
    const isOpened = !address.asset && !!next.asset
    address = next
    entry = { isOpened, top: isOpened ? entry.top : 0 }
    write("pushState")
  }
  page.emit("address")
}

/// What is shown has changed, without an entry.
export function update(changes) {
  address = changed(changes)
  clearTimeout(timer)
  timer = setTimeout(write, PAUSE)
}

export async function closeAsset() {
  if (isLeaving || !await leaveEdit()) return
  if (entry.isOpened) {
    write()
    isLeaving = true
    history.back()
  } else {
    update({ asset: null })
    page.emit("address")
  }
}
