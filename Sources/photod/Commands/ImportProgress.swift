import LibraryImport

#if canImport(Glibc)
  import Glibc
#endif

/// Shows on a terminal how many files an import has seen. For one thread at a time.
final class ImportProgress {
  private static let filesBetweenLines = 50

  private let isTerminal: Bool
  private var files = 0

  init(isTerminal: Bool) { self.isTerminal = isTerminal }

  /// Removes the line before other output.
  func clear() { write("\r\u{1B}[K") }

  /// Counts the items of a source.
  func counting<Source: ImportSource>(_ source: Source) -> some ImportSource {
    CountingImportSource(source: source, count: count)
  }

  private func count() {
    files += 1
    if files % Self.filesBetweenLines == 0 { write("\r\u{1B}[K\(files) files") }
  }

  private func write(_ text: String) {
    guard isTerminal else { return }
    var text = text
    text.withUTF8 { _ = Glibc.write(STDERR_FILENO, $0.baseAddress, $0.count) }
  }
}

private struct CountingImportSource<Source: ImportSource>: ImportSource {
  let source: Source
  let count: () -> Void

  func forEachItem(
    _ report: ImportReport, _ body: (ImportedItem) throws(ImportError) -> Void
  ) throws(ImportError) {
    try source.forEachItem(report) { item throws(ImportError) in
      count()
      try body(item)
    }
  }
}
