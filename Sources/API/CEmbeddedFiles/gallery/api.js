// Requests to the daemon. An error has the problem's detail and the status.

import { page } from "./dom.js"

/// This tab's name, also after a reload, for its manager, previews and uploads.
export const client = sessionStorage.client ??= `gallery-${Math.random().toString(36).slice(2, 8)}`

/// {canRead, canAdd, canWrite, canCreate, canSign}, from GET /v1/authorization.
export const rights = {}

export async function request(path, { method = "GET", body, headers, signal } = {}) {
  const isJSON = body && !(body instanceof Blob)
  const answer = await fetch(path, {
    method, signal, body: isJSON ? JSON.stringify(body) : body,
    headers: { ...(isJSON && { "Content-Type": "application/json" }), ...headers },
  })
  if (answer.ok) return answer
  const { status } = answer, { detail, title, type } = await answer.json().catch(() => ({}))
  if (status === 401) page.emit("signedOut")
  throw Object.assign(new Error(detail ?? title ?? `HTTP ${status}`), { status, type })
}

export async function json(path, options) {
  const answer = await request(path, options)
  return answer.status === 204 ? null : answer.json()
}

export const post = (path, body) => json(path, { method: "POST", body })
export const change = (...changes) => post("/v1/changes", { changes })

/// Calls `send` with parts of at most as many entries as a change list may have.
export async function inParts(all, send) {
  for (let first = 0; first < all.length;) await send(all.slice(first, first += 1000))
}

export const query = (parameters) =>
  new URLSearchParams(Object.entries(parameters).filter(([, value]) => value != null)).toString()

/// With the content version the browser may keep a picture for a year.
export const imageURL = (asset, width, height, more) => fileURL(asset, "image", {
  targetSize: `${Math.ceil(width)}x${Math.ceil(height)}`,
  dynamicRange: !asset.mediaSubtypes?.includes("photoHDR") ? null
    : matchMedia("(dynamic-range: high)").matches ? "preserve" : "standard", ...more,
})

export const fileURL = (asset, path = "data", more) =>
  `/v1/assets/${asset.id}/${path}?${query({ v: asset.contentVersion, networkAccessAllowed: true, ...more })}`

export const squareURL = (asset, side) =>
  imageURL(asset, side, side, { contentMode: "aspectFill", cropAnchor: "auto" })
