// What can be done with pictures: the bar of a selection, dragging to albums and inside of them, hiding, deleting.

import { change, query, rights } from "./api.js"
import { ask, report, say } from "./dialogs.js"
import { $, iconButton, isRightToLeft, make, on, page } from "./dom.js"
import { albums, shownAlbum } from "./sidebar.js"
import { text } from "./strings.js"
import * as timeline from "./timeline.js"

/// The type of dragged pictures: their identifiers as JSON.
export const DRAGGED = "application/x-photod-assets"

const bar = $("selectionBar")
const selected = () => [...timeline.selection]

on(page, "selection", () => {
  const count = timeline.selection.size, album = shownAlbum()
  bar.hidden = count === 0
  const actions = {
    download: () => { location.href = `/v1/archive?${query({ assets: selected().join() })}` },
    ...(rights.canWrite && {
      favourite: () => act(...selected().map((asset) => ({ type: "updateAsset", asset, isFavorite: true }))),
      addToAlbum,
      ...(album && { removeFromAlbum: () => act({ type: "removeAssets", collection: album.localIdentifier, assets: selected() }) }),
      hide: () => hideAssets(selected()),
      delete: () => deleteAssets(selected()),
    }),
  }
  bar.replaceChildren(
    iconButton("unselect", () => timeline.select(new Set())), make("strong", {}, text("selected", { count })),
    ...Object.entries(actions).map(([key, action]) => {
      const element = iconButton(key, action, "action")
      element.append(make("span", {}, text(key)))
      return element
    }))
})

/// Performs changes, and ends the selection. Returns whether they succeeded.
async function act(...changes) {
  try {
    await change(...changes)
    timeline.select(new Set())
    return true
  } catch (error) {
    report(error)
    return false
  }
}

async function addToAlbum() {
  const known = albums()
  const title = await ask(text("albumName"), "", known.map((album) => album.title))
  if (!title) return
  const collection = known.find((album) => album.title === title)?.localIdentifier ?? "$album"
  act(...(collection === "$album" ? [{ type: "createAlbum", title, placeholder: "$album" }] : []),
    { type: "addAssets", collection, assets: selected() })
}

export async function hideAssets(assets) {
  const changes = (isHidden) => assets.map((asset) => ({ type: "updateAsset", asset, isHidden }))
  if (!await act(...changes(true))) return
  say(text("hidden", { count: assets.length }), text("undo"), () => act(...changes(false)))
}

export async function deleteAssets(assets) {
  const changes = (type) => assets.map((asset) => ({ type, asset }))
  if (!await act(...changes("deleteAsset"))) return
  say(text("deleted", { count: assets.length }), text("undo"), () => act(...changes("restoreAsset")))
}

// Dragging

on(timeline.element, "dragstart", ({ target, dataTransfer }) => {
  const cell = target.closest(".cell")
  if (!cell) return
  const { localIdentifier } = cell.asset
  dataTransfer.setData(DRAGGED, JSON.stringify(timeline.selection.has(localIdentifier) ? selected() : [localIdentifier]))
  dataTransfer.setDragImage(cell, 20, 20)
})

/// In an album, pictures are also dropped before or after others: {cell, isAfter} of the cell under the pointer.
function placeOfDrop(event) {
  for (const cell of document.querySelectorAll(".before, .after")) cell.classList.remove("before", "after")
  const cell = event.target.closest?.(".cell")
  if (!cell || !timeline.list?.hasOwnOrder || !rights.canWrite || !event.dataTransfer.types.includes(DRAGGED)) return null
  event.preventDefault()
  const box = cell.getBoundingClientRect()
  return { cell, isAfter: event.clientX > box.left + box.width / 2 !== isRightToLeft(cell) }
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
  place.cell.classList.remove("before", "after")
  const assets = JSON.parse(event.dataTransfer.getData(DRAGGED)), { items, body: { collection } } = timeline.list
  // The index counts the others only.
  const before = items.slice(0, Number(place.cell.dataset.index) + (place.isAfter ? 1 : 0))
  act({ type: "moveAssets", collection, assets, index: before.filter(({ localIdentifier }) => !assets.includes(localIdentifier)).length })
})
