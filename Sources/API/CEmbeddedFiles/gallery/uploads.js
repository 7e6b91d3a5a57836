// Staged uploads in pieces. The browser's database keeps unfinished files, or their names.

import { change, client, json, query, request, rights } from "./api.js"
import { report, say } from "./dialogs.js"
import { $, button, make, on } from "./dom.js"
import { shownAlbum } from "./sidebar.js"
import { text } from "./strings.js"

const PIECE = 4 << 20
const STORE = "photod-uploads"
/// The largest file that is stored, in bytes.
const KEPT = 256 << 20
/// Milliseconds until a silent tab counts as closed. Hidden ones have a timer once a minute.
const GONE = 120000

const section = $("uploads")
let queue = []
let isRunning = false
let added = 0, present = 0
/// Why files were not added, until the user has read it.
let refused = []

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
export function add(files, album = shownAlbum()?.id ?? null) {
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
  for (let done = 1; queue.length > 0; done++) {
    const [file] = queue
    try {
      const isNew = await send(file, (offset) => draw(
        text("uploading", { done, count: done - 1 + queue.length, name: file.name }), offset / file.size || 0))
      if (isNew) added++
      else present++
    } catch (error) {
      if (error instanceof TypeError || [409, 502, 503, 504].includes(error.status) && !/read-only/.test(error.type)) {
        setTimeout(run, 3000)
        return draw(text("connectionLost"), 0)
      }
      // The next sign-in goes on.
      if (error.status === 401) {
        queue = []
        break
      }
      refused.push(`${file.name}: ${error.message}`)
    }
    await stored((uploads) => uploads.delete(nameOf(file)))
    queue.shift()
  }
  isRunning = false
  draw(text("uploaded", { count: added }) + (present > 0 ? ` ${text("present", { count: present })}` : ""), 1)
  added = present = 0
  setTimeout(() => { if (!isRunning && refused.length === 0) close() }, 4000)
}

/// Continues where the file's upload is. Resolves with whether the library has gained it.
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
  while (offset < file.size) {
    const end = Math.min(file.size, offset + PIECE)
    await request(`/v1/uploads/${upload}`, {
      method: "PATCH", body: file.slice(offset, end),
      headers: {
        "Content-Type": "application/partial-upload", "Upload-Offset": offset,
        "Upload-Complete": end === file.size ? "?1" : "?0",
      },
    })
    progress(offset = end)
  }
  const answer = await request("/v1/assets", { method: "POST", body: { upload } }), { localIdentifier } = await answer.json()
  // Added, also if the album refuses it.
  if (file.album && rights.canWrite) await change({ type: "addAssets", collection: file.album, assets: [localIdentifier] }).catch(report)
  return answer.status === 201
}

/// Null if the daemon no longer knows the upload.
const offsetOf = (upload) => request(`/v1/uploads/${upload}`, { method: "HEAD" }).then(
  ({ headers }) => Number(headers.get("Upload-Offset")),
  (error) => { if (error.status !== 404) throw error; return null })

function draw(message, share) {
  section.hidden = false
  section.replaceChildren(message, make("progress", { value: share, ariaLabel: message }), ...refused.map((line) => make("p", {}, line)))
  if (refused.length > 0) section.append(button(text("close"), close))
}

function close() {
  refused = []
  section.hidden = true
}
