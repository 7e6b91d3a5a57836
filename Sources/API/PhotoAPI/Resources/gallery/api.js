// Requests to the daemon. A failure is a Failure with the problem's detail, which says what to change.

import { on } from "/gallery/dom.js"

export class Failure extends Error {
  constructor(status, problem) {
    super(problem.detail ?? problem.title ?? `HTTP ${status}`)
    this.status = status
    this.type = problem.type
  }
}

/// Called when the session has ended, or there was none.
let onSignedOut = () => {}
export const whenSignedOut = (handler) => { onSignedOut = handler }

export async function request(path, { method = "GET", body, headers = {}, signal } = {}) {
  const isJSON = body !== undefined && !(body instanceof Blob)
  const response = await fetch(path, {
    method, signal,
    headers: isJSON ? { "Content-Type": "application/json", ...headers } : headers,
    body: isJSON ? JSON.stringify(body) : body,
  })
  if (response.ok || response.status === 304) return response
  const problem = await response.json().catch(() => ({}))
  if (response.status === 401) onSignedOut()
  throw new Failure(response.status, problem)
}

export async function json(path, options) {
  const response = await request(path, options)
  return response.status === 204 ? null : response.json()
}

export const post = (path, body) => json(path, { method: "POST", body })
/// Performs a change list: all of it or nothing.
export const change = (...changes) => post("/v1/changes", { changes })

export function query(parameters) {
  const pairs = Object.entries(parameters).filter(([, value]) => value !== undefined && value !== null)
  return new URLSearchParams(pairs).toString()
}

/// The URL of a picture. With the content version the browser may keep it for a year.
export function imageURL(asset, width, height, more = {}) {
  const size = width === "max" ? "max" : `${Math.ceil(width)}x${Math.ceil(height)}`
  return `/v1/assets/${asset.id}/image?${query({ targetSize: size, v: asset.version, networkAccessAllowed: true, ...more })}`
}

/// Events of a stream, while the page is visible: browsers allow six connections to a server, for all tabs together.
/// `parameters()` is a promise; it is asked again when the page is shown again. The browser reconnects by itself.
export function stream(parameters, handlers) {
  let source = null, isClosed = false
  const close = () => { source?.close(); source = null }
  const open = async () => {
    const named = await parameters()
    if (source || isClosed || document.hidden) return
    const opened = source = new EventSource(`/v1/changes/stream?${query(named)}`)
    for (const type of ["change", "reload"]) {
      on(source, type, (event) => handlers[type]?.(JSON.parse(event.data || "{}")))
    }
    source.onopen = () => handlers.open?.()
    source.onerror = () => handlers.error?.(opened.readyState === EventSource.CLOSED)
  }
  const look = () => { if (document.hidden) close(); else open() }
  on(document, "visibilitychange", look)
  open()
  return { close() { isClosed = true; close(); document.removeEventListener("visibilitychange", look) } }
}
