// A picture on the whole screen: its thumbnail, then the frames of an opportunistic request.

import { address, closeAsset, update } from "./address.js"
import { change, client, fileURL, imageURL, json, post, query, rights, squareURL } from "./api.js"
import { listed } from "./fetchresult.js"
import { ask, placeMessages, report, say } from "./dialogs.js"
import { $, all, button, drawIcon, forward, iconButton, make, on } from "./dom.js"
import { edit, endEdit, hasEdits } from "./edit.js"
import { measure } from "./panel.js"
import { searchForWord } from "./search.js"
import { deleteAssets, hideAssets, hideKey } from "./selection.js"
import { bytes, momentName, seconds, text } from "./strings.js"
import { placeholderURL } from "./thumbhash.js"
import * as timeline from "./timeline.js"
import { followGestures, place, scaleBy, showFrame } from "./zoom.js"

const dialog = $("viewer")
const stage = make("div.stage", { tabIndex: -1 })
const caption = make("p", { ariaLive: "polite" })
const liveButton = iconButton("playTheLivePhoto", () => live?.play())
const favouriteButton = iconButton("favourite", star)
const editButton = iconButton("edit", () => edit(dialog, asset, () => editButton.focus()))
const shareButton = iconButton("share", () => share().catch(report))
const hideButton = iconButton("hide", () => take(hideAssets))
const deleteButton = iconButton("delete", remove)
dialog.append(
  stage,
  make("div.viewerBar", {},
    iconButton("close", closeAsset), caption, liveButton, favouriteButton, shareButton,
    iconButton("download", () => make("a", { href: fileURL(asset, "data", { download: true }), download: "" }).click()),
    iconButton("details", toggleDetails), editButton, hideButton, deleteButton),
  iconButton("previous", () => step(-1), "icon step"), iconButton("next", () => step(1), "icon step"))

let index = -1
/// The asset of the list, and the one shown: the same, or another of its burst.
let entry = null, asset = null
let frame, live, panel, strip, resizing

followGestures(stage, { swipe: (direction) => step(-direction * forward(dialog)), pull: closeAsset })
on(dialog, "keydown", key)
on(dialog, "close", closed)
on(dialog, "cancel", (event) => { event.preventDefault(); closeAsset() })
on(window, "resize", () => {
  if (!dialog.open) return
  place()
  clearTimeout(resizing)
  resizing = setTimeout(reload, 300)
})
// A live photo plays under the mouse, or a finger that rests.
on(stage, "pointerenter", () => matchMedia("(prefers-reduced-motion: reduce)").matches || live?.play())
on(stage, "pointerleave", () => live?.stop())

/// Shows the address's asset, or none. Unless `isComplete`, the list may have it later.
export async function follow(isComplete = true) {
  const { asset: wanted } = address
  if (!wanted) return close()
  // The list of the address follows.
  if (timeline.list?.isClosed !== false) return
  if (dialog.open && asset.id === wanted) return
  let position = timeline.indexOf(wanted), member
  if (position < 0) {
    if (!isComplete) return
    const members = await burstOf(wanted).catch(() => [])
    if (address.asset !== wanted) return
    member = members.find(({ id }) => id === wanted)
    position = timeline.indexOf(members.find(({ representsBurst }) => representsBurst)?.id)
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
  const { length } = timeline.assets(), position = timeline.indexOf(entry.id)
  if (length === 0) return closeAsset()
  if (position < 0) {
    if (hasEdits) say(text("noAsset"))
    return show(Math.min(index, length - 1))
  }
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
  update({ asset: asset.id })
}

const screenSize = () => [innerWidth, innerHeight].map((side) => Math.ceil(side * devicePixelRatio))
const screenURL = (more) => imageURL(asset, ...screenSize(), more)

function showPicture() {
  const { image } = (asset === entry && timeline.cellAt(index)) || {}
  if (image?.complete && image.naturalWidth > 0) frame.append(make("img", { src: image.src }))
  // An <img> shows each frame as it arrives, and is loaded with the first.
  const began = performance.now()
  frame.append(make("img.picture", {
    alt: caption.textContent, src: asset.isAnimated ? fileURL(asset) : screenURL({ deliveryMode: "opportunistic" }),
    onload: ({ target }) => { asset.isAnimated || measure(target, began); prepareNeighbours() },
    onerror: ({ target }) => {
      // A format that only the service can read.
      if (target.src.includes("/data?")) target.src = screenURL()
      else notice("notRenderable")
    },
  }))
  if (asset.mediaSubtypes.includes("photoLive")) addLiveVideo()
}

/// For a larger window.
function reload() {
  const picture = frame.querySelector(".picture")
  if (!picture || asset.isAnimated || picture.naturalWidth >= Math.floor(picture.clientWidth * devicePixelRatio)) return
  picture.onload = prepareNeighbours
  picture.src = screenURL()
}

const notice = (key) => frame.append(make("p.notice", {}, text(key)))

/// All pictures of an asset's burst, by time.
async function burstOf(id) {
  const { burstIdentifier } = await json(`/v1/assets/${id}`)
  const { assets } = burstIdentifier ? await json(`/v1/assets?${query({
    predicate: `burstIdentifier == "${burstIdentifier}"`, includeAllBurstAssets: true, includeHiddenAssets: timeline.list.body.includeHiddenAssets, sortDescriptors: "creationDate", limit: 200,
  })}`) : { assets: [] }
  return assets.map(listed)
}

async function showBurst() {
  const { id: of, representsBurst } = entry
  if (strip?.dataset.of !== of) {
    strip = void strip?.remove()
    if (!representsBurst) return
    const members = await burstOf(of)
    if (strip || entry.id !== of || !dialog.open) return
    strip = make("div.strip", { role: "group", ariaLabel: text("burst"), dataset: { of } }, ...members.map((member, number) =>
      make("button", {
        ariaLabel: text("burstPicture", { number: number + 1, count: members.length }), dataset: { id: member.id },
        onclick: () => show(index, member.id === of ? null : member),
      }, make("img", { src: squareURL(member, 160) }))))
    dialog.append(strip)
  }
  for (const choice of strip.children) choice.ariaPressed = choice.dataset.id === asset.id
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
  // Only pictures and albums can be signed.
  shareButton.hidden = !rights.canSign || asset.mediaType !== "image"
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
  change({ type: "updateAsset", asset: asset.id, isFavorite }).then(() => {
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
  if (!await action([asset.id]) || asset !== taken || asset === entry || !dialog.open) return
  strip.dataset.of = ""
  show(index)
}

async function share() {
  const path = `/v1/assets/${asset.id}/image?targetSize=2048x2048&networkAccessAllowed=true`
  const { url, expires } = await post("/v1/signedURLs", { path })
  const link = new URL(url, location).href, date = new Date(expires).toLocaleString()
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
  const { id } = asset
  details(id).then((elements) => {
    if (asset.id === id) panel?.replaceChildren(...elements)
  }, report)
}

/// What is known about a picture, as text.
export async function details(id) {
  const path = `/v1/assets/${id}`
  const [asset, { EXIF = {}, XMP = {} }] = await Promise.all([json(path), json(`${path}/metadata`).catch(() => ({}))])
  const strings = (...names) => names.flatMap((name) => XMP[name] ?? []).filter((value) => typeof value === "string")
  const chips = (key, words) => words.length === 0 ? [] : [make("p.chips", {}, make("span", {}, text(key)),
    ...[...new Set(words)].map((word) => button(word, () => searchForWord(word), { title: text("searchFor", { word }) })))]
  return [
    ...rows(asset, EXIF), ...chips("people", asset.people),
    ...chips("places", strings("photoshop:City", "photoshop:Country")), ...chips("keywords", asset.keywords),
  ]
}

const rounded = (number, digits) => Number(number.toFixed(digits))

function rows(asset, { FNumber, ExposureTime, ISOSpeedRatings, FocalLength }) {
  const { location, duration, rating } = asset
  const exposure = [
    FNumber && `ƒ/${rounded(FNumber, 2)}`,
    ExposureTime && `${ExposureTime >= 0.3 ? rounded(ExposureTime, 1) : `1/${Math.round(1 / ExposureTime)}`} s`,
    ISOSpeedRatings && `ISO ${[ISOSpeedRatings].flat()[0]}`, FocalLength && `${Math.round(FocalLength)} mm`,
  ]
  return [
    asset.title, asset.caption, momentName(asset),
    [asset.cameraMake, asset.cameraModel].filter(Boolean).join(" "), asset.lensModel, exposure.filter(Boolean).join("  ·  "),
    `${asset.pixelWidth} × ${asset.pixelHeight}  ·  ${bytes(asset.fileSize)}`,
    duration > 0 && seconds(duration), rating > 0 && "★".repeat(rating),
    location && `${location.latitude.toFixed(5)}, ${location.longitude.toFixed(5)}`, asset.relativePath,
  ].filter(Boolean).map((row, index) => make(index === 0 ? "h2" : "p", {}, row))
}
