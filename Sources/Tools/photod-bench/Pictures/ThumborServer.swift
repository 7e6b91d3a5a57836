import Foundation

/// thumbor, set up for one machine as its documentation says: a process for each core, originals from files, no stored
/// results.
final class ThumborServer: ImageServer {
  let width = 1
  private let peer: PeerServer
  private let url: String

  var identifier: Int32 { peer.identifier }

  /// - Parameters:
  ///   - binary: `bin/thumbor` in the virtual environment.
  ///   - processes: the number of processes; the first is the parent of the others.
  init(binary: String, photographsFolder: String, workFolder: String, processes: Int) throws {
    let configuration = """
      LOADER = 'thumbor.loaders.file_loader'
      FILE_LOADER_ROOT_PATH = '\(URL(filePath: photographsFolder).standardizedFileURL.path)'
      STORAGE = 'thumbor.storages.no_storage'
      RESULT_STORAGE = None
      DETECTORS = []
      QUALITY = \(CodecFloor.quality)
      RESPECT_ORIENTATION = True
      PROGRESSIVE_JPEG = False
      ALLOW_UNSAFE_URL = True
      MAX_PIXELS = 250000000
      HTTP_LOADER_REQUEST_TIMEOUT = 600
      """
    let file = workFolder + "/thumbor.conf"
    try Data(configuration.utf8).write(to: URL(filePath: file))
    peer = try PeerServer.listening { port in
      [binary, "-i", "127.0.0.1", "-p", "\(port)", "-c", file, "-l", "error", "--processes", "\(processes)"]
    }
    url = peer.url
  }

  func url(of benchPicture: BenchPicture) throws -> String {
    let target = benchPicture.target
    // Without a size thumbor returns the full size. fit-in never enlarges; a crop does if it must.
    let size = target.size.width >= Gallery.fullTarget.size.width ? "" : target.size.description + "/"
    let fit = target.mode == "aspectFit" && !size.isEmpty ? "fit-in/" : ""
    return "\(url)/unsafe/\(fit)\(size)\(benchPicture.photograph.name)"
  }
}
