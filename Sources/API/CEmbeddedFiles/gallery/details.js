// What is known about a picture, as text.

import { json } from "./api.js"
import { button, make } from "./dom.js"
import { bytes, momentName, seconds, text } from "./strings.js"

/// People, places and keywords call `search(words)`.
export async function details(identifier, search) {
  const path = `/v1/assets/${identifier}`
  const [asset, { EXIF = {}, XMP = {} }] = await Promise.all([json(path), json(`${path}/metadata`).catch(() => ({}))])
  const strings = (...names) => names.flatMap((name) => XMP[name] ?? []).filter((value) => typeof value === "string")
  const chips = (key, words) => words.length === 0 ? [] : [make("p.chips", {}, make("span", {}, text(key)),
    ...[...new Set(words)].map((word) => button(word, () => search(`"${word}"`), { title: text("searchFor", { word }) })))]
  return [
    ...rows(asset, EXIF), ...chips("people", asset.people),
    ...chips("places", strings("photoshop:City", "photoshop:Country")), ...chips("keywords", asset.keywords),
  ]
}

function rows(asset, { FNumber, ExposureTime, ISOSpeedRatings, FocalLength }) {
  const { location, duration, rating } = asset
  const exposure = [
    FNumber && `ƒ/${FNumber}`,
    ExposureTime && `${ExposureTime >= 0.5 ? ExposureTime : `1/${Math.round(1 / ExposureTime)}`} s`,
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
