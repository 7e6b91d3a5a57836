// All texts of the page. `text(key, {name: value})` fills in {name}.

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
  completions: "Suggestions",
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
  localOnly: "With this token you can add photographs, but not see any.",
  newAlbum: "New album",
  newFolder: "New folder",
  moments: "Moments",
  next: "Next",
  noMatch: "Nothing matches “{search}”.",
  ok: "OK",
  noiseReduction: "Noise reduction",
  notPlayable: "This browser can’t play the video. You can download it.",
  notRenderable: "The picture can’t be shown. You can download the original.",
  panelCached: "From caches",
  panelFinal: "Until the final frame",
  panelFirst: "Until the first frame",
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
  property: "Predicate",
  raw: "RAW",
  removeFromAlbum: "Remove from this album",
  rename: "Rename",
  resumable: "Add the same files again to continue {count} uploads.",
  revert: "Revert to original",
  saturation: "Saturation",
  save: "Save",
  search: "Search",
  searchFor: "Search for {word}",
  searchEnd: "Show everything",
  selected: "{count} selected",
  selection: "Selection",
  service: "Service",
  shadows: "Shadows",
  share: "Copy a link",
  sharpness: "Sharpness",
  show: "Show",
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
  return english[key].replace(/\{(\w+)(, plural)?\}/g, (_, name, plural) => {
    const value = values[name]
    if (plural) return value === 1 ? "1 photograph" : `${value.toLocaleString()} photographs`
    return typeof value === "number" ? value.toLocaleString() : value ?? ""
  })
}

/// Fills in the texts that index.html names.
export function translate() {
  for (const [name, property] of [["text", "textContent"], ["label", "ariaLabel"], ["placeholder", "placeholder"]]) {
    for (const element of document.querySelectorAll(`[data-${name}]`)) element[property] = text(element.dataset[name])
  }
}

const dayFormat = new Intl.DateTimeFormat(undefined, { dateStyle: "long", timeZone: "UTC" })
const momentFormat = new Intl.DateTimeFormat(undefined, { dateStyle: "full", timeStyle: "short", timeZone: "UTC" })
const monthFormat = new Intl.DateTimeFormat(undefined, { month: "long", year: "numeric", timeZone: "UTC" })

/// As the camera's clock showed it: at the picture's own offset from UTC, in minutes.
const local = ({ creationDate, utcOffset }) => new Date(Date.parse(creationDate) + (utcOffset ?? 0) * 60000)
export const dayName = (asset) => dayFormat.format(local(asset))
export const momentName = (asset) => momentFormat.format(local(asset))
export const monthName = (month) => monthFormat.format(new Date(Date.UTC(Math.floor(month / 12), month % 12, 1)))
/// Months since the year 0.
export function monthOf(asset) {
  const [year, month, date] = asset.creationDate.split(/[-T]/)
  // The same month at every offset.
  if (date > 1 && date < 28) return year * 12 + (month - 1)
  const day = local(asset)
  return day.getUTCFullYear() * 12 + day.getUTCMonth()
}

export function bytes(count) {
  const units = ["bytes", "KB", "MB", "GB", "TB"]
  let unit = 0
  while (count >= 1000 && unit < units.length - 1) { count /= 1000; unit += 1 }
  return `${unit === 0 ? count : count.toFixed(1)} ${units[unit]}`
}

export function seconds(duration) {
  const whole = Math.round(duration), hours = Math.floor(whole / 3600), minutes = Math.floor(whole / 60) % 60
  const padded = (part) => String(part).padStart(2, "0")
  return hours > 0 ? `${hours}:${padded(minutes)}:${padded(whole % 60)}` : `${minutes}:${padded(whole % 60)}`
}
