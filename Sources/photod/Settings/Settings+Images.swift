import ImageCodec
import ImageService
import SharedDerivatives

/// `cache.*`
struct CacheSettings: Sendable {
  var frameBytes = 128 << 20
  var pinnedBytes = 64 << 20
  var diskBytes = 8 << 30
  var fullSizeRenders = FullSizeRenderStore.Limits()
  var buildsDerivativesInBackground = true
  /// Empty: derivatives are not shared.
  var derivatives = ""
  var derivativeReadTimeout = Duration.milliseconds(2000)
  var sharedDerivatives = SharedDerivatives.Limits()
  var allowsPublicCaching = false
}

/// `render.*` and `requests.*`
struct RenderSettings: Sendable {
  /// 0: one for each core.
  var workers = 0
  var queueLength = 1024
  var earlyRenders = 4
  var limits = ImageManager.Limits()
  var upgrades = EncodingUpgrades.Limits()
}

extension Settings {
  static let cacheTable: [Setting] = [
    Setting(
      "cache.frameBytes", .number(\.cache.frameBytes, 0...(1 << 50), .bytes),
      """
      In-memory cache of finished frames. The least recently used frames are evicted first; a single frame may take at \
      most a quarter. 0: no frame cache.
      """,
      advice: "Raise it if photod_image_frames_total counts many frames with source=disk."),
    Setting(
      "cache.pinnedBytes", .number(\.cache.pinnedBytes, 0...(1 << 50), .bytes),
      """
      Memory for frames that caching managers (/v1/cachingManagers) keep, in addition to cache.frameBytes and \
      memoryBudgetBytes. Frames that do not fit are left out. 0: caching managers prepare nothing.
      """,
      advice: "Raise it if photod_frame_cache_pinned_bytes stays near this limit."),
    Setting(
      "cache.diskBytes", .number(\.cache.diskBytes, 0...(1 << 50), .bytes),
      """
      Disk cache of finished frames and of derivatives (small pictures from which thumbnails are rendered). It is the \
      folder `cache` in the data folder and may be deleted at any time. The least recently used entries are evicted \
      first. 0: no disk cache.
      """,
      advice: "Raise it for a large library: derivatives take about 180 KB for each photograph."),
    Setting(
      "cache.renderBytes", .number(\.cache.fullSizeRenders.capacityBytes, 0...(1 << 50), .bytes),
      """
      Disk space for the full-size renders of adjusted pictures, which their downloads are sent from. It is the folder \
      `renders` in the data folder and may be deleted while photod is stopped. The least recently used ones are removed \
      first. 0: none are stored, and each download renders the picture again.
      """,
      advice: "Raise it if many adjusted pictures are downloaded again and again."),
    Setting(
      "cache.backgroundDerivatives", .flag(\.cache.buildsDerivativesInBackground),
      """
      After each scan, create missing derivatives in the background while no picture is requested, newest photographs \
      first, until three quarters of cache.diskBytes are used. At about 180 KB for each photograph, 8 GiB are enough \
      for about 35,000. false: a derivative is created only together with a requested picture.
      """,
      advice: "Set it to false to save CPU time, at the price of slower first thumbnails."),
    Setting(
      "cache.derivatives", .text(\.cache.derivatives),
      """
      A bucket for derivatives that several daemons share, as s3://BUCKET/PREFIX. Store, region and credentials are those \
      of s3.*, and remote.* applies. A derivative that is not in the disk cache is read from there before its original is \
      decoded, and new ones are written there. It needs the disk cache. Empty: derivatives are not shared.
      """,
      advice: "Set it if several daemons serve the same photographs, or if the disk cache is often new or small."),
    Setting(
      "cache.derivativeReadMilliseconds",
      .number(\.cache.derivativeReadTimeout.wholeMilliseconds, 10...60_000, .milliseconds),
      """
      Maximum time that a picture waits for its derivatives from cache.derivatives. Then it is made from its original. \
      After five failures in a row the store is not asked for five seconds, and longer if it fails again.
      """,
      advice: "Lower it if decoding an original takes less time than this store usually does."),
    Setting(
      "cache.derivativeWrites", .number(\.cache.sharedDerivatives.waitingWrites, 1...100_000),
      """
      Maximum number of originals whose derivatives wait to be written to cache.derivatives. Further ones are left out \
      and counted; they are written after a later scan, if cache.backgroundDerivatives is true.
      """,
      advice: "Raise it if photod_shared_derivatives_events_total counts many with event=dropped."),
    Setting(
      "cache.allowPublic", .flag(\.cache.allowsPublicCaching),
      """
      Send Cache-Control: public instead of private for images that were served without credentials, so that shared \
      caches store them. A shared cache may keep serving them for their full lifetime, even after tokens are created: \
      purge it then.
      """,
      advice: "Set it to true if the photographs are public and a caching proxy or a CDN serves them."),
  ]

  static let renderTable: [Setting] = [
    Setting(
      "render.workers", .number(\.render.workers, 0...1024),
      "Maximum number of renders that run at the same time. 0: one for each core that the process may use.",
      advice: "Lower it to leave CPU to other services."),
    Setting(
      "render.queueLength", .number(\.render.queueLength, 0...1_000_000),
      """
      Maximum number of renders that may wait for a worker; several requests for the same picture are one render. One \
      more gets 503 with Retry-After. A sole caller may use all of it; while several callers wait, each can grow only \
      to half. photod makes all tiles of a large picture in one pass; requests that wait for a tile of a pass that has \
      begun are not counted. Lookups in the catalogue have a queue of their own, four times as long, but at least 64.
      """,
      advice: "Lower it if clients give up before their picture is ready."),
    Setting(
      "render.earlyRenders", .number(\.render.earlyRenders, 0...1000),
      """
      Maximum number of renders that begin while their original is still being downloaded. Together they reserve at most \
      half of the memory for renders, and give it back if other renders need it. 0: nothing is made of an original before \
      it is complete.
      """,
      advice: "Raise it together with originals.downloads."),
    Setting(
      "render.upgradePercent", .number(\.render.upgrades.sharePercent, 0...100),
      """
      Maximum CPU time for smaller encodings, in percent of one core. With format=auto, a frame that is requested \
      again, or that a preheat window has prepared, is encoded as JPEG XL, AVIF or WebP while nothing else is rendered, \
      for clients whose Accept lists the format. 0: frames stay JPEG or PNG.
      """,
      advice: "Raise it if clients have slow connections, and lower it to save CPU."),
    Setting(
      "render.upgradeQueueLength", .number(\.render.upgrades.waiting, 0...1_000_000),
      "Maximum number of frames that wait for a smaller encoding. Further ones are encoded when they are requested again.",
      advice: "Raise it if photod_upgrades_total stays low although many frames are requested again."),
    Setting(
      "requests.deadlineSeconds", .number(\.render.limits.deadline.wholeSeconds, 1...86_400, .seconds),
      """
      Longest time from an image request to its final frame. Then it gets 503 with Retry-After, or 504 if it still \
      waits for a download.
      """,
      advice: "Raise it for slow disks or very large originals."),
    Setting(
      "requests.retained", .number(\.render.limits.retainedRequests, 0...1_000_000),
      """
      Maximum number of finished image requests whose result GET /v1/requests/{requestID} can still report, for up to \
      one minute.
      """,
      advice: "Raise it if clients that ask for a result get 404."),
  ]

  static let limitsTable: [Setting] = [
    Setting(
      "limits.sourcePixels", .number(\.codec.sourcePixels, 1...(1 << 40), .pixels),
      "Maximum number of pixels of an original, width times height; a larger one is refused (422).",
      advice: "Raise it for larger panoramas or scans, together with memoryBudgetBytes."),
    Setting(
      // libjpeg itself writes at most 65,500 pixels per side.
      "limits.sourceSide", .number(\.codec.sourceSide, 1...65_500, .pixels),
      """
      Maximum length of the longer side of an original; a larger one is refused (422). 65500 is also the largest side \
      that libjpeg can write.
      """,
      advice: "Lower it to refuse unusually long pictures."),
    Setting(
      "limits.jpegScans", .number(\.codec.jpegScans, 1...100_000),
      """
      Maximum number of scans of a progressive JPEG; one with more is refused (422). Cameras and programs write about \
      10; files with hundreds are made to waste CPU.
      """,
      advice: "Raise it only if a real photograph is refused for this reason."),
    Setting(
      "limits.profileBytes", .number(\.codec.profileBytes, 1...(1 << 30), .bytes),
      """
      Maximum size of a colour profile (ICC) after reassembly and decompression, and of any PNG chunk other than the \
      pixels; a larger one is refused (422).
      """,
      advice: "Raise it if pictures with large printer profiles are refused."),
    Setting(
      "limits.headerSegments", .number(\.codec.headerSegments, 16...1_000_000),
      """
      Maximum number of marker segments (JPEG) or chunks (PNG) before the pixels; a file with more is refused (422).
      """,
      advice: "Raise it only if a real photograph is refused for this reason."),
    Setting(
      "limits.animationFrames", .number(\.codec.animationFrames, 2...1_000_000),
      "Maximum number of frames of an animation for animated=true; one with more is refused (422).",
      advice: "Raise it if longer animations must be shown."),
    Setting(
      "limits.animationPixels", .number(\.codec.animationPixels, 1...(1 << 40), .pixels),
      """
      Maximum number of pixels that photod paints for animated=true: for each frame, the pixels of the frame and those \
      of the canvas; an animation with more is refused (422). One with as many pixels as the default takes some \
      seconds.
      """,
      advice: "Lower it to save CPU."),
    Setting(
      "limits.colorTransformBytes", .number(\.codec.colorTransformBytes, 0...(1 << 40), .bytes),
      """
      Memory for prepared colour transforms. One takes about 150 KiB, 1 MiB or more from CMYK, and with tables of \
      linear light 100 KiB to 1 MiB more; preparing one again takes 2 to 25 ms.
      """,
      advice: "Raise it if the library has photographs with many different profiles."),
    Setting(
      "limits.resampleAxisBytes", .number(\.codec.resampleAxisBytes, 0...(1 << 30), .bytes),
      """
      Memory for weights of the resampling filter, which pictures of equal size share. The weights of one picture take \
      50 to 800 KiB; computing them again takes a twentieth of the time of a small render.
      """,
      advice: "Raise it if the library has pictures of many different sizes."),
  ]
}
