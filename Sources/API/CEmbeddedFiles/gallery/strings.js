// All texts. `text(key, {name: value})` fills in {name}. A key without an entry is its text: newAlbum is “New album”.

const english = {
  burstPicture: "Picture {number} of {count}",
  changedElsewhere: "Changed or deleted elsewhere: nothing is saved. Leave the editor and begin again.",
  connectionLost: "Offline. Reconnecting …",
  copied: "The link is on the clipboard. It works until {date}.",
  cropKeys: "Crop: arrow keys move it, with Shift they resize it",
  deleteAlbum: "Delete the album “{name}”? Its photographs stay in the library.",
  deleteFolder: "Delete the folder “{name}” and all albums in it? Photographs stay in the library.",
  deleted: "{count, plural} deleted.",
  discardEdits: "Leave without saving the edits?",
  empty: "There are no photographs here.",
  flip: "Mirror",
  hdr: "HDR",
  hidden: "{count, plural} hidden. The album “Hidden” shows them.",
  link: "This link works until {date}.",
  loading: "Loading …",
  localOnly: "With this token you can add photographs, but not see any.",
  noAsset: "This photograph is not here. It may be deleted or hidden, or you may not see it.",
  noMatch: "Nothing matches “{search}”.",
  ok: "OK",
  notPlayable: "This browser can’t play the video. You can download it.",
  notRenderable: "The picture can’t be shown. You can download the original.",
  panelPrepared: "Prepared, used",
  panelWindowOf: "{start}–{end}: {ready} ready, {pending} pending",
  photoOf: "Photograph of {date}",
  present: "{count, plural} already here.",
  raw: "RAW",
  resumable: "Add the same files again to continue {count} uploads.",
  searchFor: "Search for {word}",
  selected: "{count} selected",
  share: "Copy a link",
  signInWhy: "This library needs a token.",
  uploading: "Adding {done} of {count}: {name}",
  uploaded: "{count, plural} added.",
  videoOf: "Video of {date}",
  wrongToken: "This token is not valid.",
}

export function text(key, values = {}) {
  const own = () => key[0].toUpperCase() + key.slice(1).replace(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`)
  return (english[key] ?? own()).replace(/\{(\w+)(, plural)?\}/g, (_, name, plural) => {
    const value = values[name]
    if (plural) return value === 1 ? "1 photograph" : `${value.toLocaleString()} photographs`
    return (value ?? "").toLocaleString()
  })
}

/// Fills in the texts that index.html names.
export function translate() {
  for (const [name, property] of [["text", "textContent"], ["label", "ariaLabel"], ["placeholder", "placeholder"]]) {
    for (const element of document.querySelectorAll(`[data-${name}]`)) element[property] = text(element.dataset[name])
  }
}

const format = (parts) => new Intl.DateTimeFormat(undefined, { ...parts, timeZone: "UTC" }).format
const dayFormat = format({ dateStyle: "long" })
const momentFormat = format({ dateStyle: "full", timeStyle: "short" })
const monthFormat = format({ month: "long", year: "numeric" })

/// The clock of the library's time zone, for pictures without an offset.
let clock = null
export function setTimeZone(timeZone) {
  // The browser may not know it.
  try { clock = new Intl.DateTimeFormat("sv", { timeZone, dateStyle: "short", timeStyle: "medium" }) } catch {}
}

/// As the camera's clock showed it. The offset is in minutes.
function local({ creationDate, utcOffset }) {
  const date = Date.parse(creationDate)
  return new Date(utcOffset == null && clock ? `${clock.format(date).padStart(19, "0").replace(" ", "T")}Z` : date + (utcOffset ?? 0) * 60000)
}
export const dayName = (asset) => dayFormat(local(asset))
export const momentName = (asset) => momentFormat(local(asset))
export const monthName = (month) => monthFormat(new Date(Date.UTC(Math.floor(month / 12), month % 12, 1)))
/// Months since the year 0.
export function monthOf(asset) {
  const [year, month, date] = asset.creationDate.split(/[-T]/)
  // The same month at every offset.
  if (date > 1 && date < 28) return year * 12 + (month - 1)
  const day = local(asset)
  return day.getUTCFullYear() * 12 + day.getUTCMonth()
}

export function bytes(count) {
  const unit = Math.max(0, Math.floor(Math.log10(count) / 3))
  return `${(count / 1000 ** unit).toFixed(unit && 1)} ${["bytes", "KB", "MB", "GB", "TB", "PB"][unit]}`
}

export function seconds(duration) {
  const whole = Math.round(duration), clock = new Date(whole * 1000).toISOString()
  return whole < 3600 ? clock.slice(14, 19).replace(/^0/, "") : `${Math.floor(whole / 3600)}${clock.slice(13, 19)}`
}
