import LibraryScan
import Primitives

#if canImport(Glibc)
  import Glibc
#endif

/// Shows a scan's progress on standard error: on a terminal as one line with a bar, redrawn in place; otherwise as a
/// plain line every few seconds.
final class ScanDisplay {
  private static let interval = (terminal: Duration.milliseconds(200), elsewhere: Duration.seconds(5))

  private let isTerminal: Bool
  private let started = ContinuousClock.now
  private var lastLine: ContinuousClock.Instant?
  private var rate = ScanRate()

  init(isTerminal: Bool) {
    self.isTerminal = isTerminal
    // A scan that ends before the first plain line is due prints none.
    lastLine = isTerminal ? nil : started
  }

  func show(_ progress: ScanProgress) {
    let now = ContinuousClock.now
    rate.note(files: progress.files, at: now - started)
    let interval = isTerminal ? Self.interval.terminal : Self.interval.elsewhere
    if let lastLine, now - lastLine < interval { return }
    lastLine = now
    let line = ProgressLine(files: progress.files, expected: progress.expected, filesPerSecond: rate.filesPerSecond)
    if isTerminal {
      // The last column stays free, because a terminal would wrap after filling it.
      write("\r" + line.text(width: Self.width() - 1) + "\u{1B}[K")
    } else {
      write("scanning: \(line.text(width: 200, bar: 0))\n")
    }
  }

  /// Clears the line for other output.
  func clear() {
    if isTerminal { write("\r\u{1B}[K") }
  }

  func finish(_ progress: ScanProgress) {
    clear()
    write("scan complete: \(text(progress))\n")
  }

  private func text(_ progress: ScanProgress) -> String {
    let seconds = max((ContinuousClock.now - started).seconds, 0.001)
    var parts = [
      "\(progress.files) files", "\(progress.probed) read", "\(Int(Double(progress.files) / seconds)) files/s",
    ]
    if progress.moved > 0 { parts.append("\(progress.moved) moved") }
    if progress.removed > 0 { parts.append("\(progress.removed) removed") }
    if progress.missingMounts > 0 {
      parts.append("\(progress.missingMounts) \(progress.missingMounts == 1 ? "disk" : "disks") not available")
    }
    if progress.kept > 0 { parts.append("\(progress.kept) missing but kept") }
    if progress.unsettled > 0 { parts.append("\(progress.unsettled) still being written") }
    if progress.refused > 0 { parts.append("\(progress.refused) refused by the store") }
    if progress.unreadable > 0 { parts.append("\(progress.unreadable) not indexed") }
    return parts.joined(separator: ", ")
  }

  /// The current width of the terminal in columns.
  private static func width() -> Int {
    var size = winsize()
    guard ioctl(STDERR_FILENO, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0 else { return 80 }
    return Int(size.ws_col)
  }

  private func write(_ text: String) {
    var text = text
    text.withUTF8 { _ = Glibc.write(STDERR_FILENO, $0.baseAddress, $0.count) }
  }
}

/// The current rate, weighted towards the last seconds.
private struct ScanRate {
  private static let smoothingSeconds = 4.0

  private(set) var filesPerSecond: Double?
  private var last = (files: 0, seconds: 0.0)

  mutating func note(files: Int, at time: Duration) {
    let seconds = time.seconds
    let step = seconds - last.seconds
    guard step > 0 else { return }
    let now = Double(files - last.files) / step
    let weight = step / (step + Self.smoothingSeconds)
    filesPerSecond = filesPerSecond.map { $0 + (now - $0) * weight } ?? now
    last = (files, seconds)
  }
}
