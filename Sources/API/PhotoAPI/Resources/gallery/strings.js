// Every text of the page, in one place. `text(key, {name: value})` fills in {name}.

const english = {
  addPhotos: "Add photographs",
  addToAlbum: "Add to an album",
  albumName: "Name of the album",
  albums: "Albums",
  allPhotos: "Library",
  blackAndWhite: "Black and white",
  brightness: "Brightness",
  burst: "Burst",
  burstPicture: "Picture {number} of {count}",
  cancel: "Cancel",
  close: "Close",
  collections: "Collections",
  compare: "Compare",
  connectionLost: "Offline. Reconnecting …",
  contrast: "Contrast",
  copied: "The link is on the clipboard. It works until {date}.",
  crop: "Crop",
  cropKeys: "Crop: arrow keys move it, with Shift they resize it",
  delete: "Delete",
  deleteAlbum: "Delete the album “{name}”? Its photographs stay in the library.",
  deleted: "{count, plural} deleted.",
  download: "Download",
  edit: "Edit",
  empty: "There are no photographs here.",
  exposure: "Exposure",
  favourite: "Favourite",
  flip: "Mirror",
  folderName: "Name of the folder",
  hdr: "HDR",
  hidden: "{count, plural} hidden. The album “Hidden” shows them.",
  hide: "Hide",
  highlights: "Highlights",
  info: "Details",
  keywords: "Keywords",
  link: "This link works until {date}.",
  live: "Live",
  loading: "Loading …",
  localOnly: "With this token you can add photographs, but not see any. Drop files here, or choose some with the button above.",
  newAlbum: "New album",
  newFolder: "New folder",
  moments: "Moments",
  next: "Next",
  noMatch: "Nothing matches “{search}”.",
  ok: "OK",
  noiseReduction: "Noise reduction",
  notPlayable: "This browser can’t play the video. The original can be downloaded.",
  notRenderable: "No decoder for this format is installed. The original can be downloaded.",
  panelCached: "From caches",
  panelDegraded: "Until the degraded frame",
  panelFinal: "Until the final frame",
  panelFrames: "Frame cache",
  panelMemory: "Memory in use",
  panelMemoryOf: "{used} of {budget}",
  panelPrepared: "Prepared, used",
  panelQueue: "Waiting renders",
  panelResident: "Resident",
  panelThumbnail: "Until a thumbnail",
  panelWindow: "Window",
  panelWindowOf: "{start}–{end}: {ready} ready, {pending} pending",
  people: "People",
  photoOf: "Photograph of {date}",
  photos: "Photographs",
  places: "Places",
  playLive: "Play the live photo",
  previous: "Previous",
  raw: "RAW",
  removeFromAlbum: "Remove from this album",
  rename: "Rename",
  resumable: "{count} unfinished uploads of an earlier visit: add the same files again to continue.",
  resumed: "Continuing the uploads of an earlier visit.",
  revert: "Revert to original",
  saturation: "Saturation",
  save: "Save",
  search: "Search",
  searchFor: "Search for {word}",
  searchHint: "Words, “a phrase”, or isFavorite == YES",
  selected: "{count} selected",
  selection: "Selection",
  service: "Service",
  shadows: "Shadows",
  share: "Copy a link",
  sharpness: "Sharpness",
  signIn: "Sign in",
  signInWhy: "This library needs a token.",
  signOut: "Sign out",
  skipToPhotos: "Skip to the photographs",
  smartAlbums: "Smart albums",
  straighten: "Straighten",
  tint: "Tint",
  token: "Token",
  turn: "Turn",
  undo: "Undo",
  unselect: "Clear the selection",
  uploading: "Adding {done} of {count}: {name}",
  uploaded: "{count, plural} added.",
  vibrance: "Vibrance",
  videoOf: "Video of {date}",
  viewer: "Viewer",
  vignette: "Vignette",
  warmth: "Warmth",
  wrongToken: "This token is not valid.",
  years: "Years",
}

export function text(key, values = {}) {
  const pattern = english[key] ?? key
  return pattern.replace(/\{(\w+)(, plural)?\}/g, (_, name, plural) => {
    const value = values[name]
    if (plural) return value === 1 ? "1 photograph" : `${value.toLocaleString()} photographs`
    return typeof value === "number" ? value.toLocaleString() : value ?? ""
  })
}

/// Fills in the texts that index.html names.
export function translate(root) {
  for (const element of root.querySelectorAll("[data-text]")) element.textContent = text(element.dataset.text)
  for (const element of root.querySelectorAll("[data-label]")) {
    element.ariaLabel = text(element.dataset.label)
    if (element.matches("button")) element.title = text(element.dataset.label)
  }
  for (const element of root.querySelectorAll("[data-placeholder]")) {
    element.placeholder = text(element.dataset.placeholder)
  }
}

export const dateAndTime = (date) => new Date(date).toLocaleString()
const dayFormat = new Intl.DateTimeFormat(undefined, { dateStyle: "long", timeZone: "UTC" })
const momentFormat = new Intl.DateTimeFormat(undefined, { dateStyle: "full", timeStyle: "short", timeZone: "UTC" })
const monthFormat = new Intl.DateTimeFormat(undefined, { month: "long", year: "numeric", timeZone: "UTC" })

/// Dates are shown as the camera's clock showed them: at the picture's own offset from UTC, in minutes.
const local = (date, offset) => new Date(Date.parse(date) + (offset ?? 0) * 60000)
export const dayName = (date, offset) => dayFormat.format(local(date, offset))
export const momentName = (date, offset) => momentFormat.format(local(date, offset))
export const monthName = (month) => monthFormat.format(new Date(Date.UTC(Math.floor(month / 12), month % 12, 1)))
/// Months since the year 0, for comparing and grouping.
export function monthOf(date, offset) {
  const day = local(date, offset)
  return day.getUTCFullYear() * 12 + day.getUTCMonth()
}

export function bytes(count) {
  const units = ["bytes", "KB", "MB", "GB", "TB"]
  let unit = 0
  while (count >= 1000 && unit < units.length - 1) { count /= 1000; unit += 1 }
  return `${unit === 0 ? count : count.toFixed(1)} ${units[unit]}`
}

export function seconds(duration) {
  const whole = Math.round(duration)
  const parts = [Math.floor(whole / 60) % 60, whole % 60].map((part) => String(part).padStart(2, "0"))
  const hours = Math.floor(whole / 3600)
  return hours > 0 ? `${hours}:${parts.join(":")}` : `${Number(parts[0])}:${parts[1]}`
}
