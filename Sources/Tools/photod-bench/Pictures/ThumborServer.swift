import Foundation

/// thumbor as its documentation runs it on one machine: a process a core, originals from files, nothing kept.
final class ThumborServer: ImageServer {
  let width = 1
  private let peer: PeerServer
  private let url: String

  var identifier: Int32 { peer.identifier }

  /// - Parameters:
  ///   - binary: `bin/thumbor` of the environment that it is installed in.
  ///   - processes: how many; the first is their parent.
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
    // Without a size it is the full one; fit-in never enlarges, and a crop that must enlarge does.
    let size = target.size.width >= Gallery.fullTarget.size.width ? "" : target.size.description + "/"
    let fit = target.mode == "aspectFit" && !size.isEmpty ? "fit-in/" : ""
    return "\(url)/unsafe/\(fit)\(size)\(benchPicture.photograph.name)"
  }
}
