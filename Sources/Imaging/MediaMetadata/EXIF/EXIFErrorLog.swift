import CLibExif

#if canImport(Glibc)
  import Glibc
#endif

/// Collects libexif's reports of damage. libexif does not print it, and returns no error.
final class EXIFErrorLog {
  private var count = 0
  private var first = ""

  var warnings: CodecWarnings? { CodecWarnings(library: "libexif", count: count, first: first) }

  /// Attaches the log to `data`. This object must live until `data` was read.
  func listen(to data: UnsafeMutablePointer<ExifData>) {
    guard let log = exif_log_new() else { return }
    defer { exif_log_unref(log) }
    exif_log_set_func(
      log,
      { _, code, _, format, arguments, context in
        guard code == EXIF_LOG_CODE_CORRUPT_DATA || code == EXIF_LOG_CODE_NO_MEMORY, let format, let context else {
          return
        }
        let errorLog = Unmanaged<EXIFErrorLog>.fromOpaque(context).takeUnretainedValue()
        errorLog.count += 1
        // Whether this type is optional depends on the machine's calling convention.
        let list: CVaListPointer? = arguments
        guard errorLog.count == 1, let list else { return }
        var text = [CChar](repeating: 0, count: 200)
        vsnprintf(&text, text.count, format, list)
        errorLog.first = String(decoding: text.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
      }, Unmanaged.passUnretained(self).toOpaque())
    exif_data_log(data, log)
  }
}
