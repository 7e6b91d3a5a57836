import AssetLibrary

#if canImport(Glibc)
  import Glibc
#endif

/// A scan's progress on standard error: one line that is drawn over itself on a terminal, now and then a plain line
/// elsewhere.
final class ScanDisplay {
  private let isTerminal: Bool
  private let started = ContinuousClock.now
  private var lastLine = ContinuousClock.now

  init(isTerminal: Bool) {
    self.isTerminal = isTerminal
  }

  func show(_ progress: ScanProgress) {
    if isTerminal {
      write("\r\u{1B}[K\(text(progress))")
    } else if ContinuousClock.now - lastLine > .seconds(5) {
      lastLine = .now
      write("scanning: \(text(progress))\n")
    }
  }

  func finish(_ progress: ScanProgress) {
    write("\(isTerminal ? "\r\u{1B}[K" : "")scan complete: \(text(progress))\n")
  }

  private func text(_ progress: ScanProgress) -> String {
    let seconds = max((ContinuousClock.now - started) / .milliseconds(1) / 1000, 0.001)
    var parts = [
      "\(progress.files) files", "\(progress.probed) read", "\(Int(Double(progress.files) / seconds)) files/s",
    ]
    if progress.moved > 0 { parts.append("\(progress.moved) moved") }
    if progress.removed > 0 { parts.append("\(progress.removed) gone") }
    if progress.kept > 0 { parts.append("\(progress.kept) missing but kept") }
    if progress.notQuiet > 0 { parts.append("\(progress.notQuiet) still being written") }
    if progress.unreadable > 0 { parts.append("\(progress.unreadable) not indexed") }
    return parts.joined(separator: ", ")
  }

  private func write(_ text: String) {
    var text = text
    text.withUTF8 { _ = Glibc.write(STDERR_FILENO, $0.baseAddress, $0.count) }
  }
}
