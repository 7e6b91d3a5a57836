import Foundation

/// A warm process that makes pictures on HTTP requests.
protocol ImageServer: AnyObject {
  var identifier: Int32 { get }
  /// The number of pictures that it makes at a time.
  var width: Int { get }
  func url(of benchPicture: BenchPicture) throws -> String
}

extension ImageServer {
  /// Requests pictures; each is made from its original.
  func make(_ benchPictures: [BenchPicture], atOnce: Int = 1) throws {
    let lines = try benchPictures.map { "url = \"\(try url(of: $0))\"\noutput = /dev/null\n" }
    let parallel = atOnce > 1 ? ["--no-progress-meter", "--parallel", "--parallel-max", "\(atOnce)"] : []
    try TemporaryFolder.with { folder in
      let list = folder + "/urls"
      try Data(lines.joined().utf8).write(to: URL(filePath: list))
      try Command(["curl", "-fsS", "--fail-early", "-H", "Cache-Control: no-cache", "-K", list] + parallel).run()
    }
  }

  /// The cost of pictures for the server, without the client's.
  func contestant(_ benchPicture: BenchPicture) -> Contestant {
    Contestant { pictures in
      let before = try ProcessUsage.cpuSeconds(of: self.identifier)
      try self.make([BenchPicture](repeating: benchPicture, count: pictures))
      return try ProcessUsage.cpuSeconds(of: self.identifier) - before
    }
  }
}

/// photod serving a folder of photographs.
final class PhotodServer: ImageServer {
  let width = 4
  private let daemon: DaemonUnderTest
  private let identifiers: [String: String]

  var identifier: Int32 { daemon.identifier }

  /// - Parameters:
  ///   - workFolder: the folder for a new data folder, unless `data` names one.
  ///   - data: the data folder of an earlier daemon.
  init(binary: String, photographs folder: String, workFolder: String, data: String? = nil) throws {
    let data = data ?? workFolder + "/" + UUID().uuidString
    try FileManager.default.createDirectory(atPath: data, withIntermediateDirectories: true)
    daemon = try DaemonUnderTest(
      binary: binary, library: folder, data: data,
      settings: ["accessLog=false", "http.requestsPerConnection=1000000000"])
    identifiers = try daemon.identifiersByPath()
  }

  /// Waits until the background work after a scan is done.
  func waitUntilIdle() throws { try daemon.waitUntilIdle() }

  var port: UInt16 {
    guard let port = daemon.url.split(separator: ":").last.flatMap({ UInt16($0) }) else {
      preconditionFailure("the daemon's URL has its port")
    }
    return port
  }

  /// The path of a photograph's asset.
  func assetPath(of photograph: Photograph) throws -> String {
    guard let asset = identifiers[photograph.name] else {
      throw BenchError(description: "photod has no asset \(photograph.name)")
    }
    return "/v1/assets/\(asset)"
  }

  func url(of benchPicture: BenchPicture) throws -> String { try url(of: benchPicture, quality: CodecFloor.quality) }

  func url(of benchPicture: BenchPicture, quality: Int) throws -> String {
    guard let asset = identifiers[benchPicture.photograph.name] else {
      throw BenchError(description: "photod has no asset \(benchPicture.photograph.name)")
    }
    let target = benchPicture.target
    return daemon.url + "/v1/assets/\(asset)/image?targetSize=\(target.size.description)&contentMode=\(target.mode)"
      + "&format=\(benchPicture.format)" + (benchPicture.format == "jpeg" ? "&quality=\(quality)" : "")
  }
}
