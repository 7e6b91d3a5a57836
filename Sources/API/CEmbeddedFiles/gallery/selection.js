// What can be done with pictures: a selection's bar, dragging, hiding, deleting.

import { change, inParts, post, query, rights } from "./api.js"
import { ask, report, say } from "./dialogs.js"
import { $, all, forward, iconButton, make, on, page } from "./dom.js"
import { albums, shownAlbum } from "./sidebar.js"
import { text } from "./strings.js"
import * as timeline from "./timeline.js"
import { selected } from "./timeline.js"

/// The type of dragged pictures: their identifiers as JSON.
export const DRAGGED = "application/x-photod-assets"

const bar = $("selectionBar")
/// In the album of hidden pictures, they are shown again.
export const hideKey = () => timeline.list?.body.includeHiddenAssets ? "show" : "hide"

on(page, "selection", () => {
  const count = timeline.selection.size, album = shownAlbum()
  if (count === 0 && bar.contains(document.activeElement)) timeline.focus(undefined, false)
  bar.hidden = count === 0
  const actions = {
    download: () => download().catch(report),
    ...(rights.canWrite && {
      favourite: () => changeAll(selected(), { type: "updateAsset", isFavorite: true }),
      addToAnAlbum,
      ...(album && { removeFromThisAlbum: () => act(inParts(selected(), (assets) => change({ type: "removeAssets", collection: album.id, assets }))) }),
      [hideKey()]: () => hideAssets(selected()),
      delete: () => deleteAssets(selected()),
    }),
  }
  bar.replaceChildren(
    iconButton("clearTheSelection", () => timeline.select()), make("strong", {}, text("selected", { count })),
    ...Object.entries(actions).map(([key, action]) => iconButton(key, action, "action")))
})

/// A URL has no room for many assets. With `download`, a failure keeps the page.
async function download() {
  const { localIdentifier: collection } = await post("/v1/transientCollections", { assets: selected() })
  make("a", { href: `/v1/archive?${query({ collection })}`, download: "" }).click()
}

const act = (work) => work.then(() => timeline.select(), report)

async function addToAnAlbum() {
  const known = albums()
  const title = await ask(text("nameOfTheAlbum"), "", known.map(({ title }) => title))
  if (!title) return
  let collection = known.find((album) => album.title === title)?.id
  act(inParts(selected(), async (assets) => {
    const { created } = await change(...(collection ? [] : [{ type: "createAlbum", title, placeholder: "$album" }]),
      { type: "addAssets", collection: collection ?? "$album", assets })
    collection ??= created.$album
  }))
}

/// With a `message`, offers to take back what succeeded. Returns how much.
async function changeAll(assets, entry, message, back) {
  const done = []
  const send = (assets, entry) => inParts(assets, async (part) => {
    await change(...part.map((asset) => ({ asset, ...entry })))
    if (entry !== back) done.push(...part)
  })
  await act(send(assets, entry))
  // The selection of that moment stays.
  if (message && done.length > 0) say(text(message, { count: done.length }), () => send(done, back).catch(report))
  return done.length
}

const hiding = (isHidden) => ({ type: "updateAsset", isHidden })
export const hideAssets = (assets) =>
  hideKey() === "hide" ? changeAll(assets, hiding(true), "hidden", hiding(false)) : changeAll(assets, hiding(false))
export const deleteAssets = (assets) => changeAll(assets, { type: "deleteAsset" }, "deleted", { type: "restoreAsset" })

on(bar, "keydown", ({ key }) => { if (key === "Escape") timeline.select() })
on(timeline.element, "dragstart", ({ target, dataTransfer }) => {
  const cell = target.closest(".cell")
  if (!cell) return
  const { id } = cell.asset
  dataTransfer.setData(DRAGGED, JSON.stringify(timeline.selection.has(id) ? selected() : [id]))
  dataTransfer.setDragImage(cell, 20, 20)
})

/// In albums, pictures are also dropped between others: {cell, isAfter}.
function placeOfDrop(event) {
  for (const cell of all(".before, .after")) cell.classList.remove("before", "after")
  const cell = event.target.closest?.(".cell")
  if (!cell || !timeline.list?.hasOwnOrder || !shownAlbum() || !rights.canWrite || !event.dataTransfer.types.includes(DRAGGED)) return null
  event.preventDefault()
  const box = cell.getBoundingClientRect()
  return { cell, isAfter: (event.clientX - box.left - box.width / 2) * forward(cell) > 0 }
}

on(timeline.element, "dragover", (event) => {
  const place = placeOfDrop(event)
  place?.cell.classList.add(place.isAfter ? "after" : "before")
})
on(timeline.element, "dragend", placeOfDrop)
on(timeline.element, "drop", (event) => {
  const place = placeOfDrop(event)
  if (!place) return
  event.stopPropagation()
  const assets = JSON.parse(event.dataTransfer.getData(DRAGGED)), { items, body: { collection } } = timeline.list
  // The index counts the others only.
  const before = items.slice(0, Number(place.cell.dataset.index) + (place.isAfter ? 1 : 0))
  act(change({ type: "moveAssets", collection, assets, index: before.filter(({ id }) => !assets.includes(id)).length }))
})
