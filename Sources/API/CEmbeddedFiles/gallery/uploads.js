// Staged uploads in pieces. The browser's database keeps unfinished files, or their names.

import { change, client, json, post, query, request, rights } from "./api.js"
import { report, say } from "./dialogs.js"
import { $, make, on } from "./dom.js"
import { shownAlbum } from "./sidebar.js"
import { text } from "./strings.js"

const PIECE = 4 << 20
const STORE = "photod-uploads"
const RETRIES = 5
/// The largest file that is stored, in bytes.
const KEPT = 256 << 20
/// Milliseconds until a silent tab counts as closed. Hidden ones have a timer once a minute.
const GONE = 120000

const section = $("uploads")
let queue = []
let isRunning = false

const nameOf = (file) => `${file.name}/${file.size}/${file.lastModified}`

/// Keeps this tab's uploads from others.
const renew = () => { localStorage[client] = Date.now() }
setInterval(() => queue.length > 0 && renew(), 10000)
on(window, "pagehide", () => { delete localStorage[client] })

/// Works with unfinished uploads: {name, upload, album, owner, file}. After an error, files are chosen again.
async function stored(work) {
  const result = (request) => new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result)
    request.onerror = () => reject(request.error)
  })
  try {
    const opening = indexedDB.open(STORE, 2)
    opening.onupgradeneeded = () => opening.result.createObjectStore("uploads", { keyPath: "name" })
    const database = await result(opening)
    return await result(work(database.transaction("uploads", "readwrite").objectStore("uploads"))).finally(() => database.close())
  } catch {}
}

const record = (file, upload) => ({ name: nameOf(file), upload, album: file.album, owner: client, ...(file.size <= KEPT && { file }) })

/// Goes on with what no other tab has.
export async function resume(isFirst) {
  let mine = []
  renew()
  await stored((uploads) => {
    const all = uploads.getAll()
    on(all, "success", () => {
      mine = all.result.filter(({ owner }) => owner === client || !(Date.now() - localStorage[owner] < GONE))
      for (const entry of mine) if (entry.owner !== client) uploads.put({ ...entry, owner: client })
    })
    return all
  })
  const count = mine.filter(({ file }) => !file).length
  if (isFirst && count > 0) say(text("resumable", { count }))
  for (const { file, album } of mine) if (file) add([file], album)
  add([])
}

/// Another user may be the next.
export const forget = () => stored((uploads) => uploads.clear())

/// The album is chosen now: others may be shown later.
export function add(files, album = shownAlbum()?.localIdentifier ?? null) {
  renew()
  const known = new Set(queue.map(nameOf))
  const more = [...files].filter((file) => !known.has(nameOf(file)))
  queue.push(...more)
  // One that is stored already stays, with its upload.
  for (const file of more) {
    file.album = album
    stored((uploads) => uploads.add(record(file)))
  }
  if (!isRunning && queue.length > 0) run()
}

async function run() {
  isRunning = true
  let added = 0
  for (let done = 1; queue.length > 0; done++) {
    const [file] = queue
    try {
      await send(file, (offset) => draw(
        text("uploading", { done, count: done - 1 + queue.length, name: file.name }), offset / file.size || 0))
      added += 1
    } catch (error) {
      report({ message: `${file.name}: ${error.message}`, status: error.status })
      // The next connection or sign-in goes on.
      if (error.status === 401) queue = []
      if (error.status === 401 || error instanceof TypeError) break
    }
    await stored((uploads) => uploads.delete(nameOf(file)))
    queue.shift()
  }
  isRunning = false
  draw(text("uploaded", { count: added }), 1)
  setTimeout(() => { if (!isRunning) section.hidden = true }, 4000)
}

/// Continues where the file's upload is.
async function send(file, progress) {
  // Fails for folders, and for files that are gone.
  await file.slice(0, 1).arrayBuffer()
  let { upload } = await stored((uploads) => uploads.get(nameOf(file))) ?? {}
  let offset = upload ? await offsetOf(upload) : null
  if (offset === null) {
    const headers = { "Upload-Length": file.size };
    ({ upload } = await json(`/v1/uploads?${query({ filename: file.name })}`, { method: "POST", headers }))
    await stored((uploads) => uploads.put(record(file, upload)))
    offset = 0
  }
  progress(offset)
  for (let failures = 0; offset < file.size;) {
    const end = Math.min(file.size, offset + PIECE)
    try {
      await request(`/v1/uploads/${upload}`, {
        method: "PATCH", body: file.slice(offset, end),
        headers: {
          "Content-Type": "application/partial-upload", "Upload-Offset": offset,
          "Upload-Complete": end === file.size ? "?1" : "?0",
        },
      })
      offset = end
      failures = 0
    } catch (error) {
      if ((error.status < 500 && error.status !== 409) || ++failures > RETRIES) throw error
      await new Promise((resolve) => setTimeout(resolve, 500 * 2 ** failures))
      offset = await offsetOf(upload).catch(() => offset) ?? 0
    }
    progress(offset)
  }
  const { localIdentifier } = await post("/v1/assets", { upload })
  // Added, also if the album refuses it.
  if (file.album && rights.canWrite) await change({ type: "addAssets", collection: file.album, assets: [localIdentifier] }).catch(report)
}

/// Null if the daemon no longer knows the upload.
const offsetOf = (upload) => request(`/v1/uploads/${upload}`, { method: "HEAD" }).then(
  ({ headers }) => Number(headers.get("Upload-Offset")),
  (error) => { if (error.status !== 404) throw error; return null })

function draw(message, share) {
  section.hidden = false
  section.replaceChildren(message, make("progress", { value: share, ariaLabel: message }))
}
