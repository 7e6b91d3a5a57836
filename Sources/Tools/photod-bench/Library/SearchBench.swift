// The cost of the search index when assets are added: the same batches of findings stored in two catalogues, of which
// one has no triggers that queue documents, in turns. CPU time of the storing thread. `library` measures the cost of
// searches.

import ArgumentParser
import Foundation
import GRDB
import LibraryCatalogue
import PhotoFixtures
import PhotoModel

struct SearchBench: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "search", abstract: "The search index's share of the cost of adding assets.")

  @Option(help: "Number of assets that are added to each catalogue.")
  var assets = 50_000

  @Option(help: "Assets in one transaction.")
  var batch = 500

  func run() throws {
    try TemporaryFolder.with { indexed in
      try TemporaryFolder.with { plain in
        let catalogues = [(try Catalogue(dataFolder: indexed), indexed), (try Catalogue(dataFolder: plain), plain)]
        try removeTriggers(plain)
        var (random, seconds) = (SplitMix(state: 11), [0.0, 0.0])
        var folder = ""
        for begin in stride(from: 0, to: assets, by: batch) {
          let files = (begin..<min(assets, begin + batch)).map { number in
            if number % 100 == 0 { folder = "2024/2024-05 \(BenchWords.several(3, &random).joined(separator: " "))" }
            return file(number, in: folder, &random)
          }
          for index in [0, 1] {
            seconds[index] += try ProcessUsage.cpuSeconds { try catalogues[index].0.store(files) }
          }
        }
        print("Adding \(assets) assets, \(batch) a transaction, microseconds of CPU an asset; \(Machine.cores)\n")
        let table = Table(["catalogue", "CPU", "file, bytes an asset"], labels: 1)
        for (index, name) in ["with the search index", "without"].enumerated() {
          let size = try catalogues[index].0.fileBytes
          table.row([name, (seconds[index] / Double(assets) * 1e6).text(1), (Double(size) / Double(assets)).text(0)])
        }
        let difference = (seconds[0] - seconds[1]) / Double(assets) * 1e6
        print("\nThe search index costs \(difference.text(1)) microseconds an asset.")
      }
    }
  }

  private func removeTriggers(_ folder: String) throws {
    let queue = try DatabaseQueue(path: folder + "/catalogue.sqlite")
    try queue.write { db in
      let names = try String.fetchAll(
        db, sql: "SELECT name FROM sqlite_master WHERE type = 'trigger' AND name LIKE 'queue%'")
      for name in names { try db.execute(sql: "DROP TRIGGER \(name)") }
    }
    try queue.close()
  }

  private func file(_ number: Int, in folder: String, _ random: inout SplitMix) -> ProbedFile {
    let isPhone = number / 100 % 3 != 0
    let date = Timestamp(milliseconds: 1_700_000_000_000 + Int64(number) * 40_000)
    return ProbedFile(
      path: Array("\(folder)/IMG_\(String(format: "%06d", number)).JPG".utf8),
      identity: FileIdentity(inode: UInt64(number + 1), size: 5_000_000, modified: 1),
      finding: .media(
        ProbedMedia(
          uniformTypeIdentifier: "public.jpeg", mediaType: .image, mediaSubtypes: [], isRAW: false,
          pixelSize: PixelSize(width: 4032, height: 3024), orientation: .topLeft, hasAlpha: false, durationSeconds: 0,
          date: CreationDate(moment: date, source: .metadata), modificationDate: date,
          cameraMake: isPhone ? "Apple" : "FUJIFILM", cameraModel: isPhone ? "iPhone 1\(number / 100 % 5)" : "X-T4",
          fingerprint: (0..<16).map { _ in UInt8.random(in: .min ... .max, using: &random) }.withUnsafeBytes {
            FileFingerprint($0)
          })))
  }
}

extension Catalogue {
  /// The size of the catalogue's file and its log.
  fileprivate var fileBytes: Int {
    get throws {
      try ["", "-wal"].reduce(0) { sum, suffix in
        let path = "\(dataFolder)/catalogue.sqlite\(suffix)"
        let attributes = try FileManager.default.attributesOfItem(atPath: path)
        return sum + (attributes[.size] as? Int ?? 0)
      }
    }
  }
}
