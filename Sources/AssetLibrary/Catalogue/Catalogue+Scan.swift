// What a scan reads from the catalogue and writes to it.

import Crypto
import Foundation
import GRDB
import PhotoModel

/// A file as the catalogue knows it.
struct KnownFile: Sendable {
  let id: Int64
  let path: [UInt8]
  let identity: FileIdentity
}

/// What a scan found out about one file.
struct ProbedFile: Sendable {
  enum Finding: Sendable {
    case image(ProbedImage)
    /// Not an image, or not readable: the reason, for people.
    case unreadable(String)
  }

  let path: [UInt8]
  let identity: FileIdentity
  /// The row to bring up to date, if the path was known.
  let known: KnownFile?
  let finding: Finding
}

/// An image's properties as its file tells them.
struct ProbedImage: Sendable {
  let uniformTypeIdentifier: String
  let pixelSize: PixelSize
  let orientation: Orientation
  let hasAlpha: Bool
  let creationDate: Timestamp
  let creationDateSource: DateSource
  let modificationDate: Timestamp
  let location: Location?
  let cameraMake: String?
  let cameraModel: String?
  let thumbnail: ByteRange?
}

extension Catalogue {
  /// The highest row number given out so far: rows that a scan adds itself lie above it.
  func lastFileID() throws(AssetSourceError) -> Int64 {
    try read { try Int64.fetchOne($0, sql: "SELECT max(id) FROM file") ?? 0 }
  }

  /// Known files in the order of their paths, from behind one, a page at a time, up to a row number.
  func knownFiles(after path: [UInt8]?, upTo lastID: Int64, limit: Int) throws(AssetSourceError) -> [KnownFile] {
    try read { db in
      let rows = try Row.fetchCursor(
        db.cachedStatement(
          sql: "SELECT id, path, inode, size, modified FROM file WHERE path > ? AND id <= ? ORDER BY path LIMIT ?"),
        arguments: [Data(path ?? []), lastID, limit])
      var files: [KnownFile] = []
      while let row = try rows.next() { files.append(try Self.knownFile(row)) }
      return files
    }
  }

  /// The known files that were this one, by the file system's word: the same inode, size and time.
  func knownFiles(like identity: FileIdentity) throws(AssetSourceError) -> [KnownFile] {
    try read { db in
      let rows = try Row.fetchCursor(
        db.cachedStatement(
          sql: "SELECT id, path, inode, size, modified FROM file WHERE inode = ? AND size = ? AND modified = ?"),
        arguments: [Int64(bitPattern: identity.inode), identity.size, identity.modified])
      var files: [KnownFile] = []
      while let row = try rows.next() { files.append(try Self.knownFile(row)) }
      return files
    }
  }

  func fileCount() throws(AssetSourceError) -> Int {
    try read { try Int.fetchOne($0, sql: "SELECT count(*) FROM file") ?? 0 }
  }

  /// Files that were found under a new name keep their row, and so their asset.
  func move(_ moves: [(file: KnownFile, to: [UInt8])]) throws(AssetSourceError) {
    guard !moves.isEmpty else { return }
    try write { db, _ in
      for (file, path) in moves {
        try db.cachedStatement(sql: "UPDATE file SET path = ? WHERE id = ?").execute(arguments: [Data(path), file.id])
      }
    }
  }

  /// Puts a batch of findings into the catalogue, all or none.
  func store(_ files: [ProbedFile]) throws(AssetSourceError) {
    guard !files.isEmpty else { return }
    try write { db, token in
      let key = SymmetricKey(
        data: try Data.fetchOne(db, sql: "SELECT value FROM library WHERE key = 'contentKey'") ?? Data())
      for file in files { try Self.store(file, db, token: token, key: key) }
    }
  }

  /// Files that are no longer there: their rows go, and their assets with them.
  func remove(_ files: [KnownFile]) throws(AssetSourceError) {
    guard !files.isEmpty else { return }
    try write { db, _ in
      for file in files {
        let asset = try Int64.fetchOne(
          db.cachedStatement(sql: "DELETE FROM file WHERE id = ? AND path = ? RETURNING asset"),
          arguments: [file.id, Data(file.path)])
        guard let asset else { continue }
        try db.cachedStatement(sql: "DELETE FROM asset WHERE id = ?").execute(arguments: [asset])
      }
    }
  }

  func firstScanIsComplete() throws(AssetSourceError) {
    try write { db, _ in try db.execute(sql: "UPDATE library SET value = 1 WHERE key = 'isFirstScanComplete'") }
  }

  /// One transaction with the token of the change that it is.
  private func write(_ body: (Database, _ token: Int64) throws -> Void) throws(AssetSourceError) {
    do {
      try pool.write { db in
        let token =
          try Int64.fetchOne(db, sql: "UPDATE library SET value = value + 1 WHERE key = 'token' RETURNING value") ?? 0
        try body(db, token)
      }
    } catch {
      throw Self.translated(error)
    }
  }

  private static func store(_ file: ProbedFile, _ db: Database, token: Int64, key: SymmetricKey) throws {
    var asset: Int64?
    var reason: String?
    var thumbnail: ByteRange?
    let previous: Int64? = try file.known.flatMap {
      try Int64.fetchOne(db.cachedStatement(sql: "SELECT asset FROM file WHERE id = ?"), arguments: [$0.id])
    }
    switch file.finding {
    case .image(let image):
      thumbnail = image.thumbnail
      let version = contentVersion(of: file.identity, key: key)
      asset = try previous.map { try update($0, image, version, token, db) } ?? insert(image, version, token, db)
    case .unreadable(let text):
      reason = text
    }
    try db.cachedStatement(
      sql: """
        INSERT INTO file (asset, path, inode, size, modified, thumbnailOffset, thumbnailLength, unreadableReason)
        VALUES (?, ?, ?, ?, ?, ?, ?, ?)
        ON CONFLICT (path) DO UPDATE SET asset = excluded.asset, inode = excluded.inode, size = excluded.size,
          modified = excluded.modified, thumbnailOffset = excluded.thumbnailOffset,
          thumbnailLength = excluded.thumbnailLength, unreadableReason = excluded.unreadableReason
        """
    )
    .execute(arguments: [
      asset, Data(file.path), Int64(bitPattern: file.identity.inode), file.identity.size, file.identity.modified,
      thumbnail?.offset, thumbnail?.length, reason,
    ])
    if let previous, asset == nil {
      try db.cachedStatement(sql: "DELETE FROM asset WHERE id = ?").execute(arguments: [previous])
    }
  }

  private static let properties = [
    "contentVersion", "revision", "mediaType", "uniformTypeIdentifier", "pixelWidth", "pixelHeight", "orientation",
    "hasAlpha", "creationDate", "creationDateSource", "modificationDate", "latitude", "longitude", "altitude",
    "cameraMake", "cameraModel",
  ]

  private static func arguments(_ image: ProbedImage, _ version: String, _ token: Int64) -> StatementArguments {
    [
      version, token, MediaType.image.rawValue, image.uniformTypeIdentifier, image.pixelSize.width,
      image.pixelSize.height, image.orientation.rawValue, image.hasAlpha, image.creationDate.milliseconds,
      image.creationDateSource.rawValue, image.modificationDate.milliseconds, image.location?.latitude,
      image.location?.longitude, image.location?.altitude, image.cameraMake, image.cameraModel,
    ]
  }

  private static func insert(_ image: ProbedImage, _ version: String, _ token: Int64, _ db: Database) throws -> Int64 {
    let names = properties.joined(separator: ", ")
    let marks = properties.map { _ in "?" }.joined(separator: ", ")
    try db.cachedStatement(sql: "INSERT INTO asset (\(names), localIdentifier) VALUES (\(marks), ?)")
      .execute(arguments: arguments(image, version, token) + [Base64URL.randomIdentifier()])
    return db.lastInsertedRowID
  }

  private static func update(
    _ id: Int64, _ image: ProbedImage, _ version: String, _ token: Int64, _ db: Database
  ) throws -> Int64 {
    let assignments = properties.map { "\($0) = ?" }.joined(separator: ", ")
    try db.cachedStatement(sql: "UPDATE asset SET \(assignments) WHERE id = ?")
      .execute(arguments: arguments(image, version, token) + [id])
    return id
  }

  /// HMAC-SHA256 over the file's identity, cut to 128 bits.
  private static func contentVersion(of identity: FileIdentity, key: SymmetricKey) -> String {
    var message = Data()
    for value in [identity.inode, UInt64(bitPattern: identity.size), UInt64(bitPattern: identity.modified)] {
      withUnsafeBytes(of: value.littleEndian) { message.append(contentsOf: $0) }
    }
    return Base64URL.encode(HMAC<SHA256>.authenticationCode(for: message, using: key).prefix(16))
  }

  private static func knownFile(_ row: Row) throws -> KnownFile {
    KnownFile(
      id: row[0], path: try row.withUnsafeData(atIndex: 1) { $0.map { [UInt8]($0) } ?? [] },
      identity: FileIdentity(inode: UInt64(bitPattern: row[2] as Int64), size: row[3], modified: row[4]))
  }
}
