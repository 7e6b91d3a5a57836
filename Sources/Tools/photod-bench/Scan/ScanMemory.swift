import Foundation

#if canImport(Glibc)
  import Glibc
#endif

/// Resident memory during scans of libraries with many files, which are hard links to a few files.
struct ScanMemory {
  private let run: ScanRun

  init(_ run: ScanRun) {
    self.run = run
  }

  func printTable(_ counts: [Int]) throws {
    if counts.isEmpty { return }
    print(
      "\nResident memory during scans of hard links, a thousand per folder: VmHWM, and samples every ten milliseconds\n"
    )
    let table = Table(
      ["scan", "files", "files/s", "CPU ms a file", "peak MiB", "median MiB", "catalogue MiB"], labels: 1)
    var peaks: [[Int]] = [[], []]
    for count in counts {
      let library = try run.library.links(count)
      let data = run.folder + "/data-\(count)"
      defer { try? FileManager.default.removeItem(atPath: data) }
      for (number, name) in ["the first", "the second"].enumerated() {
        var peak = 0
        var seen: [Double] = []
        let usage = try run.scan(library, data: data).usage(hiding: STDERR_FILENO) { process in
          peak = max(peak, (try? ProcessUsage.peakBytes(of: process)) ?? 0)
          if let bytes = try? ProcessUsage.residentBytes(of: process) { seen.append(bytes.mebibytes) }
          usleep(10_000)
        }
        peaks[number].append(peak)
        let size = try FileManager.default.attributesOfItem(atPath: data + "/catalogue.sqlite")[.size] as? Int
        table.row([
          name, "\(count)", (Double(count) / usage.seconds).text(0),
          (usage.cpuSeconds * 1000 / Double(count)).text(4), peak.mebibytes.text(1), seen.median.text(1),
          (size?.mebibytes).text(1),
        ])
      }
    }
    for (name, peaks) in zip(["first", "second"], peaks) {
      guard let least = peaks.min(), let most = peaks.max(), peaks.count > 1 else { continue }
      print("\nPeaks of the \(name) scans are \((most - least).mebibytes.text(1)) MiB apart")
    }
  }
}
