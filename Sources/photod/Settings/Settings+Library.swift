import LibraryFiles
import LibraryScan
import PhotoAPI

/// `upload.*`, except the limits that LibraryFiles checks.
struct UploadSettings: Sendable {
  var limits = UploadLimits()
  var template = UploadTemplate.text
}

/// `scan.*`
struct ScanSettings: Sendable {
  /// 0: scan only at start and on request.
  var intervalSeconds = 60
  var maximumRemovalPercent = 50
  var settleTime = Duration.seconds(2)
  var importsTones = false
}

/// `watch.*`
struct WatchSettings: Sendable {
  var isEnabled = true
  var options = LibraryWatcher.Options()
}

extension Settings {
  static let uploadTable: [Setting] = [
    Setting(
      "upload.template", .text(\.uploads.template),
      """
      Path of an uploaded file inside the library. Fields: {year}, {month} and {day} of the picture's date at its own \
      offset from UTC, or in timeZone if the file gives none; {camera}; {name}, the sanitized file name; {stem} and \
      {ext}, its two parts. The last path component must contain {name} or {stem}. If the path exists, -2, -3 and so \
      on are appended to the stem.
      """,
      advice: "Set it to the folder structure that the library has already.",
      validate: { settings in
        do throws(UploadTemplate.MalformedTemplate) {
          settings.files.template = try UploadTemplate(settings.uploads.template)
        } catch {
          throw SettingsError(description: "upload.template: \(error.reason)")
        }
      }),
    Setting(
      "upload.fileBytes", .number(\.uploads.limits.fileBytes.asInt, 1...(1 << 50), .bytes),
      "Maximum size of one uploaded file; a larger one gets 413.",
      advice: "Lower it if clients upload only photographs of a known size."),
    Setting(
      "upload.filesPerRequest", .number(\.uploads.limits.files, 1...100_000),
      """
      Maximum number of files of one multipart/form-data request that are stored. Each further one has 413 among the \
      results. A request with more than twice as many files ends with 413; the files that were stored stay.
      """,
      advice: "Raise it if a client uploads more files in one request."),
    Setting(
      "upload.concurrentRequests", .number(\.uploads.limits.concurrent, 1...1000),
      "Maximum number of uploads at the same time; one more gets 503 with Retry-After.",
      advice: "Raise it, together with http.requestBufferBytes, if many clients upload over slow networks."),
    Setting(
      "upload.stagedBytes", .number(\.files.stagedBytes.asInt, 0...(1 << 50), .bytes),
      """
      Maximum size of all staged uploads together (POST /v1/uploads), counting the announced length of unfinished \
      ones. An upload that would exceed it gets 507. 0 disables staged uploads.
      """,
      advice: "Raise it if clients upload several large videos at the same time."),
    Setting(
      "upload.stagedPerCaller", .number(\.files.stagedPerCaller, 1...100_000),
      "Maximum number of staged uploads of one caller; one more gets 429.",
      advice: "Raise it if a client stages more files before it makes assets of them."),
    Setting(
      "upload.stagedSeconds", .number(\.files.stagedSeconds, 60...31_536_000, .seconds),
      "Time without received bytes after which a staged upload is removed, even if it is complete.",
      advice: "Raise it if clients are offline for longer; lower it to free space earlier."),
    Setting(
      "upload.minimumFreeBytes", .number(\.files.reserveBytes.asInt, 0...(1 << 50), .bytes),
      "Free space that uploads leave on the library's disk. An upload that would leave less gets 507.",
      advice: "Raise it if other programs need space on the same disk."),
    Setting(
      "trash.retentionDays", .number(\.files.trashDays, 0...36_500, .days),
      """
      Time that deleted files stay in .photod-trash, at the top of the file system that they were on, or in the bucket. \
      After that, the next scan removes them for good.
      """,
      advice: "Lower it to free space earlier; raise it to have longer to restore a photograph."),
  ]

  static let archivesTable: [Setting] = [
    Setting(
      "archives.maximumFiles", .number(\.archives.files, 1...131_072),
      "Maximum number of files in one archive (GET /v1/archive); more get 400.",
      advice: "Raise it if users download larger albums at once."),
    Setting(
      "archives.concurrent", .number(\.archives.concurrent, 1...1000),
      """
      Maximum number of archives that are prepared or sent at the same time; one more gets 503 with Retry-After.
      """,
      advice: """
        Raise it if many users download archives over slow networks, and http.responseBufferBytes with it: archives \
        and originals may use three quarters of that, and each archive takes 384 KiB, so 16 MiB are enough for 32.
        """),
    Setting(
      "archives.planSeconds", .number(\.archives.planTime.wholeSeconds, 1...86_400, .seconds),
      """
      Longest time for listing and for opening the files of an archive before its first byte; then it gets 503.
      """,
      advice: "Raise it if large archives are on a slow disk."),
    Setting(
      "archives.memoryBytes", .number(\.archives.memoryBytes, 0...(1 << 40), .bytes),
      """
      Memory for the lists of files of all archives that are prepared, sent or kept for a resumed download, in \
      addition to memoryBudgetBytes. A file takes about 700 bytes. An archive that does not fit gets 503, or 400 if it \
      never could.
      """,
      advice: "Raise it, together with archives.concurrent, for many large archives."),
  ]

  static let scanTable: [Setting] = [
    Setting(
      "scan.intervalSeconds", .number(\.scan.intervalSeconds, 0...31_536_000, .seconds),
      """
      Interval between scans of the whole library. A scan of an unchanged library opens no file. 0: scan only at start \
      and on request (POST /v1/scan, `photod scan`).
      """,
      advice: "Shorten it if watch.enabled is false or other machines write to the library.", isReloadable: true),
    Setting(
      "scan.maximumRemovalPercent", .number(\.scan.maximumRemovalPercent, 0...100, .percent),
      """
      Safety limit, as a share of the known files. If a scan finds a larger share missing, it removes no asset and \
      reports this, until `photod scan --accept-removals` runs once. Up to 20 missing files are always accepted. \
      Missing disks are handled independently of this limit: a scan is refused if the library is empty or lies on \
      another file system without any known file, and the assets of a disk that is not mounted below the library are \
      kept.
      """,
      advice: "Raise it if you often delete large parts of the library."),
    Setting(
      "scan.settleSeconds", .number(\.scan.settleTime.wholeSeconds, 0...3600, .seconds),
      """
      Time that a new or changed file must stay unchanged before it is read, because it may still be being written. It \
      is checked again at the end of the scan. 0: files are read immediately.
      """,
      advice: "Raise it if files that are still being copied are indexed as unreadable."),
    Setting(
      "scan.importsTones", .flag(\.scan.importsTones),
      """
      Import the tones of edits by other programs too: exposure, contrast and similar sliders of Camera Raw's XMP, and \
      the filters of Apple's. photod's operations come close to them, and are not the same. Crops and orientations are \
      always imported. A change applies to all edits that a scan has found.
      """,
      advice: "Set it if pictures should look like those of the other program at a glance, without being equal."),
    Setting(
      "watch.enabled", .flag(\.watch.isEnabled),
      """
      Watch the folders of the library (inotify), so that changes by other programs are visible at once instead of \
      after the next scan. Changes that other machines make on a network file system are found only by scans.
      """,
      advice: "Set it to false if the library is on a network file system that only other machines change."),
    Setting(
      "watch.maximumFolders", .number(\.watch.options.folders, 0...(1 << 30)),
      """
      Maximum number of folders to watch; changes in further folders are found by scans. A watched folder takes about \
      1 KB of kernel memory and 200 bytes in photod. 0: nine tenths of the kernel's limit for this user (sysctl \
      fs.inotify.max_user_watches).
      """,
      advice: "Lower it if other programs of the same user need watches."),
    Setting(
      "watch.debounceMilliseconds", .number(\.watch.options.delay.wholeMilliseconds, 10...10_000, .milliseconds),
      """
      Debounce: scan a changed path after this time without further events, at the latest after five times as long.
      """,
      advice: "Raise it if programs that write many files in a row cause many small scans."),
  ]
}
