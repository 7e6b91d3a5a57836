// The page: who may do what, which list is shown, and what the bar's buttons do. The parts are in their own modules.

import { Failure, change, json, post, query, request, whenSignedOut } from "/gallery/api.js"
import { AssetList } from "/gallery/assets.js"
import { Panel } from "/gallery/panel.js"
import { Scrubber } from "/gallery/scrubber.js"
import { DRAGGED, Sidebar } from "/gallery/sidebar.js"
import { text, translate } from "/gallery/strings.js"
import { Timeline } from "/gallery/timeline.js"
import { Uploads } from "/gallery/uploads.js"
import { Viewer } from "/gallery/viewer.js"

/// Properties of assets, and operators: what the search field completes.
const PREDICATE_WORDS = [
  "addedDate", "burstIdentifier", "cameraMake", "cameraModel", "caption", "creationDate", "duration", "fileSize",
  "isAnimated", "isFavorite", "isHidden", "isLongExposure", "isRAW", "isSelfPortrait", "keywords", "latitude", "lensModel",
  "longitude", "mediaSubtypes", "mediaType", "modificationDate", "originalFilename", "pixelHeight", "pixelWidth", "rating",
  "relativePath", "title", "uniformTypeIdentifier", "AND", "BEGINSWITH[cd]", "BETWEEN", "CONTAINS[cd]", "ENDSWITH[cd]",
  "LIKE[cd]", "NOT", "photoDepthEffect", "photoHDR", "photoLive", "photoPanorama", "photoScreenshot",
]
const $ = (id) => document.getElementById(id)
const rights = { canRead: false, canAdd: false, canWrite: false, hasSession: false }
const timeline = new Timeline($("timeline"))
const viewer = new Viewer($("viewer"), timeline, rights)
const sidebar = new Sidebar($("sidebar"), rights, ask)
const panel = new Panel($("panel"), timeline)
const uploads = new Uploads($("uploads"), () => (sidebar.selected?.type === "album" ? sidebar.selected.localIdentifier : null))
let list = null

translate(document)
new Scrubber($("scrubber"), timeline)
whenSignedOut(signIn)
start()

async function start() {
  const { status, scopes } = await json("/v1/authorization").catch(() => ({ status: "denied", scopes: [] }))
  rights.canRead = scopes.includes("read")
  rights.canAdd = scopes.includes("add") || scopes.includes("write")
  rights.canWrite = scopes.includes("write")
  $("add").hidden = !rights.canAdd
  if (status === "notDetermined" || status === "denied" || scopes.length === 0) return signIn()
  if (!rights.canRead) {
    timeline.say(text("localOnly"))
    return
  }
  sidebar.load().catch(report)
  await show({})
}

// The list

async function show(source, title = text("allPhotos")) {
  list?.close()
  const shown = list = new AssetList(source)
  $("title").textContent = document.title = title
  $("count").textContent = ""
  timeline.say(text("loading"))
  shown.addEventListener("page", () => { if (shown.assets.length === Math.min(shown.count, 10000)) present(shown) })
  shown.addEventListener("change", () => { if (shown === list) { timeline.relayout(); viewer.refresh(); describe() } })
  shown.addEventListener("offline", () => { $("connection").textContent = text("connectionLost") })
  shown.addEventListener("online", () => { $("connection").textContent = "" })
  shown.addEventListener("failure", (event) => report(event.detail))
  try {
    await shown.load()
    if (shown === list) present(shown)
  } catch (error) {
    timeline.say(error.message)
    report(error)
  }
}

function present(shown) {
  if (shown !== list) return
  if (timeline.shown === shown) timeline.relayout()
  else timeline.show(shown)
  timeline.shown = shown
  describe()
}

function describe() {
  $("count").textContent = list.count.toLocaleString()
  const { search, predicate } = list.source
  timeline.say(list.count > 0 ? "" : search || predicate ? text("noMatch", { search: search ?? predicate }) : text("empty"))
}

sidebar.addEventListener("open", (event) => {
  document.body.classList.remove("withSidebar")
  $("menu").setAttribute("aria-expanded", "false")
  const collection = event.detail
  show(collection ? { collection: collection.localIdentifier } : {}, collection?.title ?? text("allPhotos"))
})
sidebar.addEventListener("failure", (event) => report(event.detail))

/// Words are a search. What looks like a predicate is one.
$("search").addEventListener("submit", (event) => {
  event.preventDefault()
  const words = event.target.search.value.trim()
  const isPredicate = /[=<>]|\b(BEGINSWITH|CONTAINS|ENDSWITH|LIKE|IN|BETWEEN)\b/.test(words)
  const source = words === "" ? {} : isPredicate ? { predicate: words } : { search: words }
  if (sidebar.selected) source.collection = sidebar.selected.localIdentifier
  show(source, words || sidebar.selected?.title || text("allPhotos"))
})
$("search").addEventListener("input", (event) => {
  const value = event.target.value
  if (value === "") $("search").requestSubmit()
  // The last word is completed with those of the predicate language.
  const [, before, word] = value.match(/^(.*?)(\w*)$/s)
  const found = word.length < 2 ? [] : PREDICATE_WORDS.filter((name) => name.toLowerCase().startsWith(word.toLowerCase()))
  $("words").replaceChildren(...found.map((name) => Object.assign(document.createElement("option"), { value: before + name })))
})

// The viewer

timeline.addEventListener("open", (event) => viewer.open(event.detail))
viewer.addEventListener("show", (event) => timeline.reveal(event.detail))
viewer.addEventListener("delete", (event) => remove(event.detail))
viewer.addEventListener("failure", (event) => report(event.detail))
viewer.addEventListener("message", (event) => say(event.detail))

// Selection

const selected = () => [...timeline.selection]

timeline.addEventListener("selection", () => {
  const bar = $("selectionBar")
  const count = timeline.selection.size
  bar.hidden = count === 0
  if (count === 0) return
  const album = sidebar.selected?.type === "album" ? sidebar.selected : null
  const actions = [
    ["unselect", () => timeline.select(new Set())],
    ["download", () => { location.href = `/v1/archive?${query({ assets: selected().join() })}` }],
    ...(rights.canWrite ? [
      ["favourite", () => act(...selected().map((asset) => ({ type: "updateAsset", asset, isFavorite: true })))],
      ["addToAlbum", addToAlbum],
      ...(album ? [["removeFromAlbum", () =>
        act({ type: "removeAssets", collection: album.localIdentifier, assets: selected() })]] : []),
      ["hide", () => act(...selected().map((asset) => ({ type: "updateAsset", asset, isHidden: true })))],
      ["delete", () => remove(selected())],
    ] : []),
  ]
  bar.replaceChildren(Object.assign(document.createElement("span"), { textContent: text("selected", { count }) }),
    ...actions.map(([name, action]) => {
      const button = Object.assign(document.createElement("button"), { textContent: text(name) })
      button.addEventListener("click", action)
      return button
    }))
})

async function act(...changes) {
  try {
    await change(...changes)
    timeline.select(new Set())
  } catch (error) {
    report(error)
  }
}

async function addToAlbum() {
  const albums = sidebar.collections.filter((collection) => collection.type === "album")
  const title = await ask(text("albumName"), "", albums.map((album) => album.title))
  if (!title) return
  const album = albums.find((known) => known.title === title)
  const collection = album?.localIdentifier ?? "$album"
  act(...(album ? [] : [{ type: "createAlbum", title, placeholder: "$album" }]),
    { type: "addAssets", collection, assets: selected() })
}

/// Moves assets to the trash, and offers to take that back.
async function remove(assets) {
  try {
    await change(...assets.map((asset) => ({ type: "deleteAsset", asset })))
    timeline.select(new Set())
    say(text("deleted", { count: assets.length }), text("undo"), () =>
      act(...assets.map((asset) => ({ type: "restoreAsset", asset }))))
  } catch (error) {
    report(error)
  }
}

/// Drags the selection, or the picture under the pointer, to an album.
$("timeline").addEventListener("dragstart", (event) => {
  const cell = event.target.closest(".cell")
  if (!cell) return
  const assets = timeline.selection.has(cell.asset.id) ? selected() : [cell.asset.id]
  event.dataTransfer.setData(DRAGGED, JSON.stringify(assets))
})

// Adding files

$("add").addEventListener("click", () => $("files").click())
$("files").addEventListener("change", (event) => { uploads.add(event.target.files); event.target.value = "" })
uploads.addEventListener("failure", (event) => say(event.detail))
addEventListener("dragover", (event) => {
  if (!rights.canAdd || !event.dataTransfer.types.includes("Files")) return
  event.preventDefault()
  document.body.classList.add("dropping")
})
addEventListener("dragleave", (event) => { if (!event.relatedTarget) document.body.classList.remove("dropping") })
addEventListener("drop", (event) => {
  document.body.classList.remove("dropping")
  if (!rights.canAdd || event.dataTransfer.files.length === 0) return
  event.preventDefault()
  uploads.add(event.dataTransfer.files)
})

// The bar

$("menu").addEventListener("click", () => {
  const isOpen = document.body.classList.toggle("withSidebar")
  $("menu").setAttribute("aria-expanded", isOpen)
})
$("service").addEventListener("click", () => $("service").setAttribute("aria-pressed", panel.toggle()))
$("signOut").addEventListener("click", async () => {
  await request("/v1/session", { method: "DELETE" }).catch(() => {})
  location.reload()
})

// Dialogs and messages

function signIn() {
  const dialog = $("signIn")
  if (dialog.open) return
  const form = document.createElement("form")
  const input = Object.assign(document.createElement("input"), { type: "password", name: "token", required: true, autocomplete: "current-password" })
  input.setAttribute("aria-label", text("token"))
  const problem = Object.assign(document.createElement("p"), { className: "problem" })
  problem.setAttribute("role", "alert")
  form.append(
    Object.assign(document.createElement("h2"), { textContent: text("signIn") }),
    Object.assign(document.createElement("p"), { textContent: text("signInWhy") }), input, problem,
    Object.assign(document.createElement("button"), { className: "primary", textContent: text("signIn") }))
  form.addEventListener("submit", async (event) => {
    event.preventDefault()
    try {
      await post("/v1/session", { token: input.value.trim() })
      sessionStorage.setItem("signedIn", "1")
      dialog.close()
      $("signOut").hidden = false
      start()
    } catch (error) {
      problem.textContent = error instanceof Failure && error.status === 401 ? text("wrongToken") : error.message
    }
  })
  dialog.replaceChildren(form)
  dialog.addEventListener("cancel", (event) => event.preventDefault())
  dialog.showModal()
}
$("signOut").hidden = !sessionStorage.getItem("signedIn")

/// Asks for a text; with `value` null, only for consent. Resolves with the text, true, or null.
function ask(question, value = "", choices = []) {
  const dialog = $("question")
  return new Promise((resolve) => {
    const form = Object.assign(document.createElement("form"), { method: "dialog" })
    const input = value === null ? null : Object.assign(document.createElement("input"), { value, required: true })
    form.append(Object.assign(document.createElement("h2"), { textContent: question }))
    if (input) {
      input.setAttribute("aria-label", question)
      const options = Object.assign(document.createElement("datalist"), { id: "choices" })
      options.append(...choices.map((choice) => Object.assign(document.createElement("option"), { value: choice })))
      input.setAttribute("list", "choices")
      form.append(input, options)
    }
    const no = Object.assign(document.createElement("button"), { type: "button", textContent: text("cancel") })
    no.addEventListener("click", () => dialog.close())
    const yes = Object.assign(document.createElement("button"), { className: "primary", value: "yes", textContent: "OK" })
    form.append(no, yes)
    dialog.returnValue = ""
    dialog.replaceChildren(form)
    dialog.addEventListener("close", () => resolve(dialog.returnValue === "yes" ? input?.value.trim() ?? true : null), { once: true })
    dialog.showModal()
  })
}

function report(error) {
  if (error instanceof Failure && error.status === 401) return
  say(error.message ?? String(error))
}

function say(message, actionName, action) {
  const line = Object.assign(document.createElement("p"), { textContent: message })
  if (action) {
    const button = Object.assign(document.createElement("button"), { textContent: actionName })
    button.addEventListener("click", () => { line.remove(); action() })
    line.append(button)
  }
  $("messages").append(line)
  setTimeout(() => line.remove(), action ? 10000 : 6000)
}
