// Adds files by staged uploads: pieces of a few megabytes, resumed after a lost connection, a reload or a restart of the
// daemon. The browser keeps the files of unfinished uploads in its database, and their names where it has none.

import { Failure, json, post, query, request } from "/gallery/api.js"
import { Emitter } from "/gallery/dom.js"
import { text } from "/gallery/strings.js"

const PIECE = 4 << 20
const STORE = "photod-uploads"
const RETRIES = 5
/// The largest file of which the browser keeps a copy, in bytes.
const KEPT = 256 << 20

const nameOf = (file) => `${file.name}/${file.size}/${file.lastModified}`
const stored = () => JSON.parse(localStorage.getItem(STORE) ?? "{}")

function remember(file, upload) {
  const all = stored()
  if (upload) all[nameOf(file)] = upload
  else delete all[nameOf(file)]
  localStorage.setItem(STORE, JSON.stringify(all))
}

/// Files that are not added yet, for the next visit. All errors are ignored: then the user has to choose the files again.
const files = {
  async run(mode, work) {
    try {
      const opening = indexedDB.open(STORE, 1)
      opening.onupgradeneeded = () => opening.result.createObjectStore("files")
      const result = (request) => new Promise((resolve, reject) => {
        request.onsuccess = () => resolve(request.result)
        request.onerror = () => reject(request.error)
      })
      const database = await result(opening)
      try {
        return await result(work(database.transaction("files", mode).objectStore("files")))
      } finally {
        database.close()
      }
    } catch {
      return undefined
    }
  },
  keep: (file) => file.size <= KEPT ? files.run("readwrite", (store) => store.put(file, nameOf(file))) : undefined,
  forget: (file) => files.run("readwrite", (store) => store.delete(nameOf(file))),
  all: () => files.run("readonly", (store) => store.getAll()),
}

export class Uploads extends Emitter {
  #queue = []
  #done = 0
  #isRunning = false

  constructor(element, album) {
    super()
    Object.assign(this, { element, album })
  }

  /// Goes on with what an earlier visit left.
  async resume() {
    const kept = await files.all() ?? []
    const count = Object.keys(stored()).length
    if (kept.length > 0) {
      this.emit("message", text("resumed"))
      this.add(kept)
    } else if (count > 0) {
      this.#say(text("resumable", { count }))
    }
  }

  add(added) {
    const known = new Set(this.#queue.map(nameOf))
    const more = [...added].filter((file) => !known.has(nameOf(file)))
    this.#queue.push(...more)
    for (const file of more) files.keep(file)
    if (!this.#isRunning) this.#run()
  }

  async #run() {
    this.#isRunning = true
    this.#done = 0
    let added = 0
    while (this.#queue.length > 0) {
      const file = this.#queue[0]
      try {
        await this.#send(file)
        added += 1
      } catch (error) {
        this.emit("message", `${file.name}: ${error.message}`)
        if (!(error instanceof Failure)) { this.#queue = []; break }
        remember(file, null)
      }
      await files.forget(file)
      this.#queue.shift()
      this.#done += 1
    }
    this.#isRunning = false
    this.#say(text("uploaded", { count: added }))
    setTimeout(() => { if (!this.#isRunning) this.element.hidden = true }, 4000)
  }

  async #send(file) {
    let upload = stored()[nameOf(file)]
    let offset = upload ? await this.#offset(upload) : null
    if (offset === null) {
      upload = (await json(`/v1/uploads?${query({ filename: file.name })}`, {
        method: "POST", headers: { "Upload-Length": String(file.size) },
      })).upload
      remember(file, upload)
      offset = 0
    }
    this.#progress(file, offset)
    for (let failures = 0; offset < file.size;) {
      this.#progress(file, offset)
      try {
        const isLast = offset + PIECE >= file.size
        await request(`/v1/uploads/${upload}`, {
          method: "PATCH", body: file.slice(offset, offset + PIECE),
          headers: {
            "Content-Type": "application/partial-upload", "Upload-Offset": String(offset), "Upload-Complete": isLast ? "?1" : "?0",
          },
        })
        offset = Math.min(file.size, offset + PIECE)
        failures = 0
      } catch (error) {
        if (error instanceof Failure && error.status !== 409 && error.status < 500) throw error
        if (++failures > RETRIES) throw error
        await new Promise((resume) => setTimeout(resume, 500 * 2 ** failures))
        offset = await this.#offset(upload) ?? 0
      }
    }
    const asset = await post("/v1/assets", { upload })
    remember(file, null)
    const album = this.album()
    if (album) await post("/v1/changes", { changes: [{ type: "addAssets", collection: album, assets: [asset.localIdentifier] }] })
  }

  /// The bytes that the daemon has; null if it no longer knows the upload.
  async #offset(upload) {
    try {
      const response = await request(`/v1/uploads/${upload}`, { method: "HEAD" })
      return Number(response.headers.get("Upload-Offset"))
    } catch (error) {
      if (error instanceof Failure && error.status === 404) return null
      throw error
    }
  }

  #progress(file, offset) {
    this.#say(text("uploading", { done: this.#done + 1, count: this.#done + this.#queue.length, name: file.name }), offset / file.size)
  }

  #say(message, share = 1) {
    this.element.hidden = false
    this.element.textContent = message
    this.element.style.setProperty("--share", `${share * 100}%`)
  }
}
