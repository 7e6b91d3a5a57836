// One picture on the whole screen: its thumbnail, then the frames of one opportunistic request.

import { address, closeAsset, update } from "./address.js"
import { change, client, fileURL, imageURL, json, post, query, rights, squareURL } from "./api.js"
import { listed } from "./assets.js"
import { details } from "./details.js"
import { ask, placeMessages, report, say } from "./dialogs.js"
import { $, all, drawIcon, forward, iconButton, make, on } from "./dom.js"
import { edit, endEdit } from "./edit.js"
import { measure } from "./panel.js"
import { searchFor } from "./search.js"
import { deleteAssets, hideAssets, hideKey } from "./selection.js"
import { momentName, text } from "./strings.js"
import { placeholderURL } from "./thumbhash.js"
import * as timeline from "./timeline.js"
import { followGestures, place, scaleBy, showFrame } from "./zoom.js"

const dialog = $("viewer")
const stage = make("div.stage", { tabIndex: -1 })
const caption = make("p", { ariaLive: "polite" })
const liveButton = iconButton("playTheLivePhoto", () => live?.play())
const favouriteButton = iconButton("favourite", star)
const editButton = iconButton("edit", () => edit(dialog, asset, () => editButton.focus()))
const hideButton = iconButton("hide", () => take(hideAssets))
const deleteButton = iconButton("delete", remove)
dialog.append(
  stage,
  make("div.viewerBar", {},
    iconButton("close", closeAsset), caption, liveButton, favouriteButton,
    iconButton("share", () => share().catch(report)),
    iconButton("download", () => make("a", { href: fileURL(asset, "data", { download: true }), download: "" }).click()),
    iconButton("details", toggleDetails), editButton, hideButton, deleteButton),
  iconButton("previous", () => step(-1), "icon step"), iconButton("next", () => step(1), "icon step"))

let index = -1
/// The asset of the list, and the one shown: the same, or another of its burst.
let entry = null, asset = null
let frame, live, panel, strip

followGestures(stage, { swipe: (direction) => step(-direction * forward(dialog)), pull: closeAsset })
on(dialog, "keydown", key)
on(dialog, "close", closed)
on(dialog, "cancel", (event) => { event.preventDefault(); closeAsset() })
on(window, "resize", () => { if (dialog.open) place() })
// A live photo plays under the mouse, or a finger that rests.
on(stage, "pointerenter", () => matchMedia("(prefers-reduced-motion: reduce)").matches || live?.play())
on(stage, "pointerleave", () => live?.stop())

/// Shows the address's asset, or none. Unless `isComplete`, the list may have it later.
export async function follow(isComplete = true) {
  const { asset: wanted } = address
  if (!wanted) return close()
  // The list of the address follows.
  if (timeline.list?.isClosed !== false) return
  if (dialog.open && asset.localIdentifier === wanted) return
  let position = timeline.indexOf(wanted), member
  if (position < 0) {
    if (!isComplete) return
    const members = await burstOf(wanted).catch(() => [])
    if (address.asset !== wanted) return
    member = members.find(({ localIdentifier }) => localIdentifier === wanted)
    position = timeline.indexOf(members.find(({ representsBurst }) => representsBurst)?.localIdentifier)
  }
  if (position < 0) {
    close()
    say(text("noAsset"))
    return update({ asset: null })
  }
  show(position, member)
  if (!dialog.open) dialog.showModal()
  stage.focus()
}

export const close = () => dialog.close()

function step(by) {
  if (timeline.assets()[index + by]) show(index + by)
}

/// The list has changed.
export function refresh() {
  if (!dialog.open) return
  const { length } = timeline.assets(), position = timeline.indexOf(entry.localIdentifier)
  if (length === 0) return closeAsset()
  if (position < 0) return show(Math.min(index, length - 1))
  index = position
  const isMember = asset !== entry, { contentVersion } = entry
  entry = timeline.assets()[index]
  if (isMember) return
  asset = entry
  if (asset.contentVersion === contentVersion) drawLabels()
  else show(index)
}

/// It is known which assets move, and which represent bursts.
export function showKinds() {
  if (!dialog.open) return
  if (asset === entry && asset.isAnimated) show(index)
  else showBurst().catch(report)
}

export function retry() { if (dialog.open && frame.querySelector(".notice")) show(index, asset === entry ? null : asset) }

function show(position, member) {
  index = position
  entry = timeline.assets()[index]
  asset = member ?? entry
  clear()
  frame = stage.appendChild(make("div.frame"))
  if (asset.placeholder) frame.style.backgroundImage = `url(${placeholderURL(asset.placeholder)})`
  showFrame(frame, asset)
  drawLabels()
  if (asset.mediaType === "video") showVideo()
  else showPicture()
  showBurst().catch(report)
  if (panel) loadDetails()
  timeline.reveal(index, true)
  update({ asset: asset.localIdentifier })
}

/// The screen's own pixels.
const screenSize = () => [innerWidth, innerHeight].map((side) => Math.ceil(side * devicePixelRatio))
const screenURL = (more) => imageURL(asset, ...screenSize(), more)

function showPicture() {
  const { image } = (asset === entry && timeline.cellAt(index)) || {}
  if (image?.complete && image.naturalWidth > 0) frame.append(make("img", { src: image.src, alt: "" }))
  // An <img> shows each frame as it arrives, and is loaded with the first.
  const began = performance.now()
  frame.append(make("img.picture", {
    alt: caption.textContent, src: asset.isAnimated ? fileURL(asset) : screenURL({ deliveryMode: "opportunistic" }),
    onload: ({ target }) => { asset.isAnimated || measure(target, began); prepareNeighbours() }, onerror: () => notice("notRenderable"),
  }))
  if (asset.mediaSubtypes.includes("photoLive")) addLiveVideo()
}

const notice = (key) => frame.append(make("p.notice", {}, text(key)))

/// All pictures of an asset's burst, by time.
async function burstOf(identifier) {
  const { burstIdentifier } = await json(`/v1/assets/${identifier}`)
  const { assets } = burstIdentifier ? await json(`/v1/assets?${query({
    predicate: `burstIdentifier == "${burstIdentifier}"`, includeAllBurstAssets: true, includeHiddenAssets: timeline.list.body.includeHiddenAssets, sortDescriptors: "creationDate", limit: 200,
  })}`) : { assets: [] }
  return assets.map(listed)
}

async function showBurst() {
  const { localIdentifier: of, representsBurst } = entry
  if (strip?.dataset.of !== of) {
    strip = void strip?.remove()
    if (!representsBurst) return
    const members = await burstOf(of)
    if (strip || entry.localIdentifier !== of || !dialog.open) return
    strip = make("div.strip", { role: "group", ariaLabel: text("burst"), dataset: { of } }, ...members.map((member, number) =>
      make("button", {
        ariaLabel: text("burstPicture", { number: number + 1, count: members.length }), dataset: { id: member.localIdentifier },
        onclick: () => show(index, member.localIdentifier === of ? null : member),
      }, make("img", { alt: "", src: squareURL(member, 160) }))))
    dialog.append(strip)
  }
  for (const choice of strip.children) choice.ariaPressed = choice.dataset.id === asset.localIdentifier
}

function addLiveVideo() {
  const video = make("video.live", {
    muted: true, playsInline: true, preload: "none",
    src: fileURL(asset, "resources/pairedVideo/data"),
  })
  live = {
    play: () => video.play().then(() => video.classList.add("playing")).catch(() => {}),
    stop: () => { video.pause(); video.classList.remove("playing") },
  }
  on(video, "ended", live.stop)
  frame.append(video)
}

function showVideo() {
  const poster = screenURL()
  const video = make("video", {
    controls: true, playsInline: true, autoplay: true, poster, src: fileURL(asset),
    onerror: () => {
      // A codec that only the service can read.
      video.replaceWith(make("img.picture", { alt: caption.textContent, src: poster }))
      notice("notPlayable")
    },
  })
  frame.append(video)
}

function prepareNeighbours() {
  timeline.prepare({ client: `${client}.viewer`, visible: [index, index], margin: 2, targetSize: screenSize().join("x") })
}

function drawLabels() {
  caption.textContent = momentName(asset)
  favouriteButton.ariaPressed = asset.isFavorite
  drawIcon(hideButton, hideKey())
  liveButton.hidden = !asset.mediaSubtypes.includes("photoLive")
  for (const element of [favouriteButton, hideButton, deleteButton]) element.hidden = !rights.canWrite
  editButton.hidden = !rights.canWrite || asset.mediaType !== "image"
}

/// What is only removed keeps its connection and plays on.
function clear() {
  live = null
  for (const element of all(".stage :is(img, video)")) {
    element.onerror = null
    element.removeAttribute("src")
    element.load?.()
  }
  stage.replaceChildren()
}

function closed() {
  // The event may come after the next opening.
  if (dialog.open) return
  clear()
  strip = void strip?.remove()
  endEdit()
  timeline.focus(index, false)
  placeMessages()
}

function key(event) {
  // A focused video has keys of its own.
  if (event.target.matches("video, input") && event.key !== "Escape") return
  const actions = {
    ArrowRight: () => step(forward(dialog)), ArrowLeft: () => step(-forward(dialog)),
    Escape: closeAsset, Home: () => show(0), End: () => show(timeline.assets().length - 1),
    f: star, i: toggleDetails, l: () => live?.play(), Delete: () => event.repeat || remove(), "+": () => scaleBy(1.5), "-": () => scaleBy(1 / 1.5),
  }
  if (!actions[event.key] || event.ctrlKey || event.metaKey || event.altKey) return
  event.preventDefault()
  actions[event.key]()
}

function star() {
  if (!rights.canWrite) return
  const starred = asset, isFavorite = !asset.isFavorite
  change({ type: "updateAsset", asset: asset.localIdentifier, isFavorite }).then(() => {
    // The stream replaces the list's assets only.
    if (asset === entry) return
    starred.isFavorite = isFavorite
    drawLabels()
  }).catch(report)
}

function remove() { if (rights.canWrite) take(deleteAssets) }

async function take(action) {
  const taken = asset
  // The list has no others of a burst.
  if (!await action([asset.localIdentifier]) || asset !== taken || asset === entry || !dialog.open) return
  strip.dataset.of = ""
  show(index)
}

async function share() {
  const file = asset.mediaType === "video" ? "data?" : "image?targetSize=2048x2048&"
  const { url, expires } = await post("/v1/signedURLs", { path: `/v1/assets/${asset.localIdentifier}/${file}networkAccessAllowed=true` })
  const link = new URL(url, location.href).href, date = new Date(expires).toLocaleString()
  // Browsers have a clipboard only for secure origins.
  const isCopied = await navigator.clipboard?.writeText(link).then(() => true, () => false)
  if (isCopied) say(text("copied", { date }))
  else ask(text("link", { date }), link)
}

function toggleDetails() {
  panel?.remove()
  panel = panel ? null : dialog.appendChild(make("aside.details.card", { ariaLabel: text("details") }))
  if (panel) loadDetails()
}

function loadDetails() {
  const { localIdentifier } = asset
  details(localIdentifier, searchFor).then((elements) => {
    if (asset.localIdentifier === localIdentifier) panel?.replaceChildren(...elements)
  }, report)
}
