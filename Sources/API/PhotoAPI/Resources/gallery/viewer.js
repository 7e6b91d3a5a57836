// One picture on the whole screen: the thumbnail at hand, then the degraded and the final frame of one opportunistic
// request, then, when zoomed in, the full resolution in tiles of the visible part.

import { change, imageURL, json, post, query } from "/gallery/api.js"
import { Emitter, make, on } from "/gallery/dom.js"
import { Editor } from "/gallery/edit.js"
import { bytes, dateAndTime, momentName, seconds, text } from "/gallery/strings.js"
import { placeholderURL } from "/gallery/thumbhash.js"

const TILE = 512
const button = (label, path, action) => {
  const element = make("button")
  element.className = "icon"
  element.title = text(label)
  element.ariaLabel = text(label)
  element.innerHTML = `<svg viewBox="0 0 24 24" aria-hidden="true"><path d="${path}"/></svg>`
  on(element, "click", action)
  return element
}

export class Viewer extends Emitter {
  #index = -1
  #zoom = 1
  #x = 0
  #y = 0
  #details = null
  #pointers = new Map()
  #tileTimer = 0
  /// The picture of a burst that is shown in the place of the one that represents it.
  #picked = null
  #burst = null
  #editor = null
  /// Milliseconds from a request to its degraded frame (null: there was none) and to its final one.
  times = []

  /// `rights` says what the caller may do: {canWrite, seesPlaces}.
  constructor(dialog, timeline, rights) {
    super()
    Object.assign(this, { dialog, timeline, rights })
    this.stage = dialog.appendChild(make("div"))
    this.stage.className = "stage"
    this.stage.tabIndex = -1
    this.bar = dialog.appendChild(make("div"))
    this.bar.className = "viewerBar"
    this.caption = make("p")
    this.favourite = button("favourite", "M12 20s-7-4.6-9-9a5 5 0 0 1 9-4 5 5 0 0 1 9 4c-2 4.4-9 9-9 9z", () => this.#star())
    this.live = button("playLive", "M12 9a3 3 0 1 0 0 6 3 3 0 0 0 0-6zM12 3a9 9 0 1 0 0 18 9 9 0 0 0 0-18z", () => this.#playLive?.())
    this.trash = button("delete", "M5 7h14M10 7V5h4v2M7 7l1 13h8l1-13", () => this.#delete())
    this.edit = button("edit", "M4 20l1-5L16 4l4 4L9 19zM14 6l4 4", () => this.#openEditor())
    this.hide = button("hide", "M3 12s3-6 9-6 9 6 9 6-3 6-9 6-9-6-9-6zM4 20L20 4", () => this.#hideAsset())
    this.bar.append(
      button("close", "M6 6l12 12M18 6L6 18", () => dialog.close()), this.caption, this.live, this.favourite,
      button("share", "M12 15V4M8 8l4-4 4 4M5 13v7h14v-7", () => this.#share()),
      button("download", "M12 4v11M8 11l4 4 4-4M5 20h14", () => this.#download()),
      button("info", "M12 3a9 9 0 1 0 0 18 9 9 0 0 0 0-18zM12 11v6M12 7.5v.5", () => this.#toggleDetails()), this.edit, this.hide, this.trash)
    dialog.append(
      Object.assign(button("previous", "M15 5l-7 7 7 7", () => this.step(-1)), { className: "icon step back" }),
      Object.assign(button("next", "M9 5l7 7-7 7", () => this.step(1)), { className: "icon step forward" }))
    on(dialog, "keydown", (event) => this.#key(event))
    on(dialog, "close", () => this.#closed())
    on(this.stage, "wheel", (event) => this.#wheel(event), { passive: false })
    on(this.stage, "dblclick", (event) => this.#zoomTo(this.#zoom > 1 ? 1 : 3, event.clientX, event.clientY))
    for (const type of ["pointerdown", "pointermove", "pointerup", "pointercancel"]) {
      on(this.stage, type, (event) => this.#pointer(event))
    }
    on(window, "resize", () => { if (dialog.open) this.#place() })
  }

  get asset() { return this.#picked ?? this.timeline.assets[this.#index] }

  open(index) {
    this.#show(index)
    if (!this.dialog.open) this.dialog.showModal()
    this.stage.focus()
  }

  step(by) {
    const index = this.#index + by
    if (index >= 0 && index < this.timeline.assets.length) this.#show(index)
  }

  /// The list has changed: the same asset stays, or what took its place.
  refresh() {
    if (!this.dialog.open) return
    const index = this.timeline.assets.findIndex((asset) => asset.id === this.shown.id)
    if (this.#picked) {
      // It is in no list; what represents it may have moved.
      this.#index = Math.max(0, this.timeline.assets.findIndex((asset) => asset.id === this.#burst.of))
    } else if (index < 0) {
      if (this.timeline.assets.length === 0) this.dialog.close()
      else this.#show(Math.min(this.#index, this.timeline.assets.length - 1))
    } else {
      this.#index = index
      if (this.asset.version !== this.shown.version) this.#show(index)
      else { this.shown = this.asset; this.#labels() }
    }
  }

  // Showing

  #show(index, picked = null) {
    this.#index = index
    this.#picked = picked
    this.shown = this.asset
    this.#zoom = 1
    this.#x = this.#y = 0
    this.#clear()
    this.frame = this.stage.appendChild(make("div"))
    this.frame.className = "frame"
    if (this.asset.placeholder) this.frame.style.backgroundImage = `url(${placeholderURL(this.asset.placeholder)})`
    this.#place()
    this.#playLive = null
    this.#labels()
    if (this.asset.type === "video") this.#showVideo()
    else this.#showPicture()
    if (!picked) this.#showBurst()
    if (this.#details) this.#loadDetails()
    this.emit("show", index)
  }

  #showPicture() {
    const cell = this.#picked ? null : this.timeline.cell(this.#index)
    if (cell?.image.complete && cell.image.naturalWidth > 0) {
      this.frame.append(make("img", { src: cell.image.src, alt: "" }))
    }
    const picture = make("img", { alt: this.caption.textContent, className: "picture", draggable: false })
    const { width, height } = this.#box()
    const asset = this.asset
    // A plain <img> shows each frame of the response as it arrives.
    picture.src = imageURL(asset, width * devicePixelRatio, height * devicePixelRatio, { deliveryMode: "opportunistic" })
    picture.onload = () => this.#prepareNeighbours()
    this.#watch(picture)
    picture.onerror = () => {
      this.frame.append(make("p", { className: "notice", textContent: text("notRenderable") }))
    }
    this.frame.append(picture)
    if (asset.subtypes.includes("photoLive")) this.#addLiveVideo(asset)
  }

  #playLive = null

  /// Notes when the first frame of a picture and its last one were shown, for the panel.
  #watch(picture) {
    const began = performance.now(), times = { degraded: null, final: null }
    this.times = [...this.times.slice(-99), times]
    let width = 0
    const look = () => {
      if (!picture.isConnected) return
      if (picture.naturalWidth > width) {
        if (width > 0) times.degraded = times.final
        times.final = performance.now() - began
        width = picture.naturalWidth
      }
      if (performance.now() - began < 10_000) requestAnimationFrame(look)
    }
    requestAnimationFrame(look)
  }

  /// The pictures of a burst, in a strip.
  async #showBurst() {
    const { id, isBurst } = this.asset
    if (this.#burst?.of === id) return
    this.#burst?.strip.remove()
    this.#burst = null
    if (!isBurst) return
    await this.#act(async () => {
      const { burstIdentifier } = await json(`/v1/assets/${id}`)
      const { assets } = await json(`/v1/assets?${query({
        predicate: `burstIdentifier == "${burstIdentifier}"`, includeAllBurstAssets: true, sortDescriptors: "creationDate", limit: 200,
      })}`)
      if (this.shown.id !== id || !this.dialog.open) return
      const strip = make("div", { className: "strip" })
      strip.role = "group"
      strip.ariaLabel = text("burst")
      assets.forEach((asset, number) => {
        const shown = listed(asset)
        const choice = make("button", { asset: shown })
        choice.ariaLabel = text("burstPicture", { number: number + 1, count: assets.length })
        choice.ariaPressed = asset.localIdentifier === id
        choice.append(make("img", { alt: "", src: imageURL(shown, 160, 160, { contentMode: "aspectFill" }) }))
        on(choice, "click", () => {
          for (const other of strip.children) other.ariaPressed = other === choice
          this.#show(this.#index, shown.id === id ? null : shown)
        })
        strip.append(choice)
      })
      this.#burst = { of: id, strip }
      this.dialog.append(strip)
    })
  }

  /// Plays while the pointer rests on the picture, or holds it; the button in the bar plays it once.
  #addLiveVideo(asset) {
    const video = make("video", {
      muted: true, playsInline: true, preload: "none", className: "live",
      src: `/v1/assets/${asset.id}/resources/pairedVideo/data?v=${asset.version}&networkAccessAllowed=true`,
    })
    const play = () => video.play().then(() => video.classList.add("playing")).catch(() => {})
    const stop = () => { video.pause(); video.classList.remove("playing") }
    this.#playLive = play
    on(video, "ended", stop)
    for (const type of ["pointerenter", "pointerdown"]) on(this.frame, type, play)
    for (const type of ["pointerleave", "pointerup"]) {
      on(this.frame, type, (event) => { if (event.pointerType !== "mouse" || type === "pointerleave") stop() })
    }
    this.frame.append(video)
  }

  #showVideo() {
    const { width, height } = this.#box()
    const poster = imageURL(this.asset, width * devicePixelRatio, height * devicePixelRatio)
    const video = make("video", {
      controls: true, playsInline: true, autoplay: true, poster,
      src: `/v1/assets/${this.asset.id}/data?v=${this.asset.version}&networkAccessAllowed=true`,
    })
    video.onerror = () => {
      // A codec that only the service can read.
      video.replaceWith(
        make("img", { alt: this.caption.textContent, className: "picture", src: poster }),
        make("p", { className: "notice", textContent: text("notPlayable") }))
    }
    this.frame.append(video)
  }

  #prepareNeighbours() {
    for (const index of [this.#index + 1, this.#index - 1]) {
      const asset = this.timeline.assets[index]
      if (!asset) continue
      const box = this.#fit(asset)
      const size = `${Math.ceil(box.width * devicePixelRatio)}x${Math.ceil(box.height * devicePixelRatio)}`
      post("/v1/cachingManagers/default/startCaching", {
        client: this.timeline.constructor.client, assets: [asset.id], targetSize: size, contentMode: "aspectFit",
      }).catch(() => {})
    }
  }

  /// The size of a picture on the screen, in CSS pixels.
  #fit(asset) {
    const width = this.dialog.clientWidth || innerWidth, height = this.dialog.clientHeight || innerHeight
    const ratio = asset.ratio
    return width / height > ratio ? { width: height * ratio, height } : { width, height: width / ratio }
  }

  #box() { return this.#fit(this.asset) }

  #place() {
    const { width, height } = this.#box()
    Object.assign(this.frame.style, { width: `${width}px`, height: `${height}px` })
    this.#move()
  }

  #labels() {
    const asset = this.asset
    this.caption.textContent = momentName(asset.date, asset.offset)
    this.favourite.classList.toggle("on", asset.isFavorite)
    this.favourite.ariaPressed = asset.isFavorite
    this.live.hidden = !asset.subtypes.includes("photoLive")
    for (const element of [this.favourite, this.hide, this.trash]) element.hidden = !this.rights.canWrite
    this.edit.hidden = !this.rights.canWrite || asset.type !== "image"
  }

  // Zoom

  #wheel(event) {
    event.preventDefault()
    if (event.ctrlKey || Math.abs(event.deltaY) >= Math.abs(event.deltaX)) {
      this.#zoomTo(this.#zoom * Math.exp(-event.deltaY / 400), event.clientX, event.clientY)
    } else {
      this.#x -= event.deltaX
      this.#move()
    }
  }

  #zoomTo(zoom, clientX, clientY) {
    const next = Math.min(20, Math.max(1, zoom))
    const box = this.stage.getBoundingClientRect()
    const px = clientX - box.left - box.width / 2, py = clientY - box.top - box.height / 2
    this.#x = px - (px - this.#x) * next / this.#zoom
    this.#y = py - (py - this.#y) * next / this.#zoom
    this.#zoom = next
    this.#move()
  }

  #move() {
    const { width, height } = this.#box()
    const limit = (extent, space) => Math.max(0, (extent * this.#zoom - space) / 2)
    const clamp = (value, most) => Math.min(most, Math.max(-most, value))
    this.#x = clamp(this.#x, limit(width, this.stage.clientWidth))
    this.#y = clamp(this.#y, limit(height, this.stage.clientHeight))
    this.frame.style.transform = `translate(${this.#x}px, ${this.#y}px) scale(${this.#zoom})`
    clearTimeout(this.#tileTimer)
    if (this.#zoom > 1.05 && this.asset.type === "image") this.#tileTimer = setTimeout(() => this.#drawTiles(), 150)
    else for (const tile of this.frame.querySelectorAll(".tile")) tile.remove()
  }

  /// Tiles of the visible part. Their level is the power of two that has at least the screen's pixels.
  #drawTiles() {
    const { width, height } = this.#box()
    const level = 2 ** Math.ceil(Math.log2(this.#zoom))
    const columns = Math.ceil(width * devicePixelRatio * level / TILE)
    const rows = Math.ceil(height * devicePixelRatio * level / TILE)
    const box = this.frame.getBoundingClientRect(), stage = this.stage.getBoundingClientRect()
    const part = (start, size, low, high, count) => [
      Math.max(0, Math.floor((low - start) / size * count)), Math.min(count - 1, Math.floor((high - start) / size * count)),
    ]
    const [left, right] = part(box.left, box.width, stage.left, stage.right, columns)
    const [top, bottom] = part(box.top, box.height, stage.top, stage.bottom, rows)
    const wanted = new Set()
    for (let row = top; row <= bottom; row++) {
      for (let column = left; column <= right; column++) wanted.add(`${level}/${columns}/${column}/${row}`)
    }
    for (const tile of this.frame.querySelectorAll(".tile")) {
      if (tile.dataset.key.startsWith(`${level}/${columns}/`) && !wanted.delete(tile.dataset.key)) tile.remove()
      else if (!tile.dataset.key.startsWith(`${level}/${columns}/`)) setTimeout(() => tile.remove(), 800)
    }
    for (const key of wanted) {
      const [, , column, row] = key.split("/").map(Number)
      const crop = [column / columns, row / rows, 1 / columns, 1 / rows].map((value) => value.toFixed(6)).join()
      const tile = make("img", { alt: "", className: "tile", draggable: false })
      tile.dataset.key = key
      Object.assign(tile.style, {
        left: `${100 * column / columns}%`, top: `${100 * row / rows}%`,
        width: `${100 / columns}%`, height: `${100 / rows}%`,
      })
      tile.src = imageURL(this.asset, TILE, TILE, { normalizedCropRect: crop, contentMode: "aspectFill", resizeMode: "exact" })
      this.frame.append(tile)
    }
  }

  /// One pointer swipes, or pans when zoomed in; two zoom.
  #pointer(event) {
    if (event.target.closest("video[controls]")) return
    const before = this.#pointers.get(event.pointerId)
    if (event.type === "pointerdown") {
      this.stage.setPointerCapture(event.pointerId)
      this.#pointers.set(event.pointerId, { x: event.clientX, y: event.clientY, startX: event.clientX, startY: event.clientY })
    } else if (event.type === "pointermove" && before) {
      const others = [...this.#pointers.entries()].filter(([id]) => id !== event.pointerId)
      if (others.length === 1) {
        const other = others[0][1]
        const scale = Math.hypot(event.clientX - other.x, event.clientY - other.y)
          / Math.max(1, Math.hypot(before.x - other.x, before.y - other.y))
        this.#zoomTo(this.#zoom * scale, (event.clientX + other.x) / 2, (event.clientY + other.y) / 2)
      } else if (this.#zoom > 1) {
        this.#x += event.clientX - before.x
        this.#y += event.clientY - before.y
        this.#move()
      }
      Object.assign(before, { x: event.clientX, y: event.clientY })
    } else if (before) {
      this.#pointers.delete(event.pointerId)
      const dx = event.clientX - before.startX, dy = event.clientY - before.startY
      if (this.#zoom === 1 && this.#pointers.size === 0 && event.type === "pointerup") {
        if (Math.abs(dx) > 60 && Math.abs(dx) > Math.abs(dy)) this.step(dx < 0 ? 1 : -1)
        else if (dy > 120) this.dialog.close()
      }
    }
  }

  #key(event) {
    if (this.#editor) {
      if (event.key === "Escape") { event.preventDefault(); this.#editor.close() }
      return
    }
    // A focused video has keys of its own.
    if (event.target.matches("video, input") && event.key !== "Escape") return
    const actions = {
      ArrowRight: () => this.step(1), ArrowLeft: () => this.step(-1), f: () => this.#star(), i: () => this.#toggleDetails(),
      l: () => this.#playLive?.(),
      Delete: () => this.#delete(), Home: () => this.#show(0), End: () => this.#show(this.timeline.assets.length - 1),
      "+": () => this.#zoomTo(this.#zoom * 1.5, innerWidth / 2, innerHeight / 2),
      "-": () => this.#zoomTo(this.#zoom / 1.5, innerWidth / 2, innerHeight / 2),
    }
    if (!actions[event.key] || event.ctrlKey || event.metaKey) return
    event.preventDefault()
    actions[event.key]()
  }

  /// A video that is only removed would play on and keep its connection.
  #clear() {
    for (const video of this.stage.querySelectorAll("video")) {
      video.onerror = null
      video.pause()
      video.removeAttribute("src")
      video.load()
    }
    this.stage.replaceChildren()
  }

  #closed() {
    // The event may come after the next opening.
    if (this.dialog.open) return
    this.#clear()
    this.#burst?.strip.remove()
    this.#burst = this.#picked = null
    this.timeline.focus(this.#index)
    this.emit("closed")
  }

  // Actions

  async #act(action) {
    try {
      await action()
    } catch (error) {
      this.emit("failure", error)
    }
  }

  #star() {
    if (!this.rights.canWrite) return
    const { asset } = this, isFavorite = !asset.isFavorite
    this.#act(async () => {
      await change({ type: "updateAsset", asset: asset.id, isFavorite })
      // The list's assets are replaced by the stream; the others of a burst have none.
      if (asset !== this.#picked) return
      asset.isFavorite = isFavorite
      this.#labels()
    })
  }

  #openEditor() {
    this.#editor = new Editor(this.dialog, this.asset, this.timeline.constructor.client)
    on(this.#editor, "failure", (event) => this.emit("failure", event.detail))
    on(this.#editor, "closed", () => { this.#editor = null; this.edit.focus() })
  }

  #hideAsset() { this.emit("hide", [this.asset.id]) }

  #delete() {
    if (!this.rights.canWrite) return
    this.emit("delete", [this.asset.id])
  }

  #download() {
    const link = make("a")
    link.href = `/v1/assets/${this.asset.id}/data?download=true&networkAccessAllowed=true`
    link.click()
  }

  #share() {
    this.#act(async () => {
      const signed = await post("/v1/signedURLs", { path: `/v1/assets/${this.asset.id}/image?targetSize=2048x2048&networkAccessAllowed=true` })
      const link = new URL(signed.url, location.href).href, date = dateAndTime(signed.expires)
      // Browsers have a clipboard only for secure origins.
      const isCopied = await navigator.clipboard?.writeText(link).then(() => true).catch(() => false)
      if (isCopied) this.emit("message", text("copied", { date }))
      else this.emit("link", { link, date })
    })
  }

  #toggleDetails() {
    if (this.#details) {
      this.#details.remove()
      this.#details = null
    } else {
      this.#details = this.dialog.appendChild(make("aside"))
      this.#details.ariaLabel = text("info")
      this.#details.className = "details"
      this.#loadDetails()
    }
  }

  /// People, the place and keywords: each one searches for its like.
  #chips(asset, metadata) {
    const xmp = metadata.XMP ?? {}
    const list = (value) => [value ?? []].flat().filter((item) => typeof item === "string")
    const place = [xmp["photoshop:City"], xmp["photoshop:Country"]].flatMap(list)
    const people = [
      ...list(xmp["Iptc4xmpExt:PersonInImage"]),
      ...[xmp["mwg-rs:Regions"]?.["mwg-rs:RegionList"] ?? []].flat().flatMap((region) => list(region?.["mwg-rs:Name"])),
    ]
    return [["people", people], ["places", place], ["keywords", asset.keywords ?? []]].flatMap(([name, words]) => {
      if (words.length === 0) return []
      const group = make("p", { className: "chips" })
      group.append(make("span", { textContent: text(name) }))
      for (const word of new Set(words)) {
        const chip = make("button", { textContent: word, title: text("searchFor", { word }) })
        on(chip, "click", () => {
          this.dialog.close()
          this.emit("search", `"${word}"`)
        })
        group.append(chip)
      }
      return [group]
    })
  }

  async #loadDetails() {
    const { id } = this.asset
    await this.#act(async () => {
      const [asset, metadata] = await Promise.all([
        json(`/v1/assets/${id}`), json(`/v1/assets/${id}/metadata`).catch(() => ({})),
      ])
      if (!this.#details || this.asset.id !== id) return
      this.#details.replaceChildren(...detailRows(asset, metadata), ...this.#chips(asset, metadata))
    })
  }
}

/// An asset of a listing as the lists of this page have it.
const listed = (asset) => ({
  id: asset.localIdentifier, version: asset.contentVersion, type: asset.mediaType, subtypes: asset.mediaSubtypes,
  duration: asset.duration, ratio: asset.pixelWidth / asset.pixelHeight, date: asset.creationDate, offset: asset.utcOffset,
  isFavorite: asset.isFavorite, placeholder: asset.placeholder, isRAW: asset.isRAW,
})

function detailRows(asset, metadata) {
  const exif = metadata.EXIF ?? {}
  const exposure = [
    exif.FNumber && `ƒ/${exif.FNumber}`,
    exif.ExposureTime && (exif.ExposureTime >= 0.5 ? `${exif.ExposureTime} s` : `1/${Math.round(1 / exif.ExposureTime)} s`),
    exif.ISOSpeedRatings && `ISO ${[exif.ISOSpeedRatings].flat()[0]}`,
    exif.FocalLength && `${Math.round(exif.FocalLength)} mm`,
  ]
  const rows = [
    asset.title, asset.caption, momentName(asset.creationDate, asset.utcOffset),
    [asset.cameraMake, asset.cameraModel].filter(Boolean).join(" "), asset.lensModel,
    exposure.filter(Boolean).join("  ·  "),
    `${asset.pixelWidth} × ${asset.pixelHeight}  ·  ${bytes(asset.fileSize)}`,
    asset.duration > 0 ? seconds(asset.duration) : null,
    asset.rating > 0 ? "★".repeat(asset.rating) : null,
    asset.location && `${asset.location.latitude.toFixed(5)}, ${asset.location.longitude.toFixed(5)}`,
    asset.relativePath,
  ]
  return rows.filter(Boolean).map((row, index) =>
    make(index === 0 ? "h2" : "p", { textContent: row }))
}
