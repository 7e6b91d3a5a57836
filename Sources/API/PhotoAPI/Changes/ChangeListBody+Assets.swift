import FoundationEssentials
import HTTPCore
import LibraryCatalogue
import PhotoModel
import Primitives

/// Entries about assets.
extension ChangeListBody.EntryReader {
  mutating func assetUpdate(_ principal: Principal) throws(Problem) -> AssetUpdate {
    var update = AssetUpdate()
    update.isFavorite = try optionalFlag("isFavorite")
    update.isHidden = try optionalFlag("isHidden")
    if entry.isNull("creationDate") { throw QueryReader.invalid("creationDate", "must be a date") }
    if let text = try entry.text("creationDate") {
      do throws(MalformedRFC3339) {
        let date = try RFC3339.dateTime(text)
        (update.creationDate, update.utcOffset) = (Timestamp(milliseconds: date.milliseconds), date.offsetMinutes)
      } catch {
        throw QueryReader.invalid(
          "creationDate", "must be a date such as 2024-05-01T12:30:00Z, in the years 0000 to 9999 in UTC")
      }
    }
    if entry.has("location") {
      guard principal.may(.location) else { throw Problem.insufficientScope([.location]).naming("location") }
      update.location = .some(try location())
    }
    update.isUserPick = try userPick()
    update.title = try description("title", limits.titleBytes)
    update.caption = try description("caption", limits.captionBytes, mayHaveLines: true)
    update.keywords = try keywords()
    update.regions = try regions()
    // Names that the caller can't read would be lost.
    if update.regions != nil, !principal.mayReadNames { throw Problem.insufficientScope([.people]).naming("regions") }
    if entry.has("rating") {
      update.rating = .some(try entry.number("rating", in: DescriptiveMetadata.ratings))
    }
    guard update != AssetUpdate() else {
      // A misspelled member may be the cause.
      try entry.finish()
      throw QueryReader.invalid(
        "type",
        "updateAsset needs at least one of isFavorite, isHidden, creationDate, location, burstSelectionTypes, title, "
          + "caption, keywords, rating, regions")
    }
    return update
  }

  /// The one selection type that a user sets; the others follow from the burst.
  private mutating func userPick() throws(Problem) -> Bool? {
    let name = "burstSelectionTypes"
    guard entry.has(name) else { return nil }
    let types = try entry.texts(name, atMost: 1)
    guard let types, types.allSatisfy(BurstSelectionTypes.userPick.names.contains) else {
      throw QueryReader.invalid(name, "must be [\"userPick\"], or [] to remove it")
    }
    return !types.isEmpty
  }

  /// A text, or null; the empty text counts as null.
  private mutating func description(
    _ name: String, _ limit: Int, mayHaveLines: Bool = false
  ) throws(Problem) -> String?? {
    guard entry.has(name) else { return nil }
    guard let text = try entry.text(name), !text.isEmpty else { return .some(nil) }
    let isPlain = text.unicodeScalars.allSatisfy { scalar in
      scalar.properties.generalCategory != .control || mayHaveLines && (scalar == "\n" || scalar == "\t")
    }
    guard text.utf8.count <= limit, isPlain else {
      throw QueryReader.invalid(
        name,
        "must be null or have at most \(limit) bytes and no control characters"
          + (mayHaveLines ? " except line feeds and tabs" : ""))
    }
    return .some(text)
  }

  private mutating func keywords() throws(Problem) -> [String]? {
    let name = "keywords"
    guard entry.has(name) else { return nil }
    let notAList = QueryReader.invalid(name, "must be a list of at most \(limits.keywords) strings, [] to remove all")
    guard case .array(let values)? = entry.value(name) else { throw notAList }
    var seen: Set<String> = []
    var keywords: [String] = []
    for value in values {
      guard case .string(let word) = value else { throw notAList }
      guard seen.insert(word).inserted else { continue }
      // Duplicates do not count; the size of the body limits them.
      guard keywords.count < limits.keywords else { throw notAList }
      guard (1...limits.keywordBytes).contains(word.utf8.count),
        !word.unicodeScalars.contains(where: { $0.properties.generalCategory == .control })
      else {
        throw QueryReader.invalid(
          name, "must be strings of 1 to \(limits.keywordBytes) bytes without control characters")
      }
      // All callers who see the asset see its keywords, also without the scope location.
      guard !DescriptiveMetadata.isCoordinates(word) else {
        throw QueryReader.invalid(name, "must not be coordinates; set location instead of geo: keywords")
      }
      keywords.append(word)
    }
    return keywords
  }

  private mutating func regions() throws(Problem) -> [PictureRegion]? {
    let name = "regions"
    guard entry.has(name) else { return nil }
    guard case .array(let list)? = entry.value(name), list.count <= RegionLimits.regions else {
      throw QueryReader.invalid(name, "must be a list of at most \(RegionLimits.regions) regions, [] to remove all")
    }
    return try list.map { value throws(Problem) in
      guard case .object(let members) = value else { throw QueryReader.invalid(name, "must be a list of objects") }
      var reader = JSONObjectReader(members)
      return try Self.region(&reader, name)
    }
  }

  private static func region(_ reader: inout JSONObjectReader, _ name: String) throws(Problem) -> PictureRegion {
    guard case .string(let type)? = reader.value("type"), let kind = PictureRegion.Kind(rawValue: type) else {
      let types = PictureRegion.Kind.allCases.map(\.rawValue).joined(separator: ", ")
      throw QueryReader.invalid(name, "must each have a type: \(types)")
    }
    let numbers: [Double]
    if case .array(let sides)? = reader.value("rect") {
      numbers = sides.compactMap { side in
        switch side {
        case .integer(let number): Double(number)
        case .number(let number): number
        default: nil
        }
      }
    } else {
      numbers = []
    }
    guard numbers.count == 4, numbers.allSatisfy({ (0...1).contains($0) }), numbers[0] + numbers[2] <= 1 + 1e-6,
      numbers[1] + numbers[3] <= 1 + 1e-6
    else {
      throw QueryReader.invalid(
        name, "must each have a rect of four numbers from 0 to 1, [x, y, width, height], inside the unit square")
    }
    var personName: String?
    switch reader.value("name") {
    case nil: break
    case .string(let text)
    where (1...RegionLimits.nameBytes).contains(text.utf8.count)
      && !text.unicodeScalars.contains { $0.properties.generalCategory == .control }:
      personName = text
    default:
      throw QueryReader.invalid(
        name, "may each have a name of 1 to \(RegionLimits.nameBytes) bytes without control characters")
    }
    do throws(Problem) { try reader.finish() } catch {
      throw QueryReader.invalid(name, "must have no members except type, rect and name")
    }
    let rect = UnitRect(x: numbers[0], y: numbers[1], width: numbers[2], height: numbers[3])
    return PictureRegion(kind, rect, name: personName)
  }

  private mutating func location() throws(Problem) -> Location? {
    if entry.isNull("location") { return nil }
    guard case .object(let members) = entry.value("location") else {
      throw QueryReader.invalid("location", "must be an object with latitude and longitude, or null")
    }
    var place = JSONObjectReader(members)
    func number(_ name: String, _ most: Double) throws(Problem) -> Double? {
      let number: Double
      switch place.value(name) {
      case nil: return nil
      case .integer(let value): number = Double(value)
      case .number(let value): number = value
      default: throw QueryReader.invalid("location", "must contain only numbers")
      }
      guard number.magnitude <= most else {
        throw QueryReader.invalid("location", "must have a value of \(name) from \(Int(-most)) to \(Int(most))")
      }
      return number
    }
    let (latitude, longitude) = (try number("latitude", 90), try number("longitude", 180))
    let altitude = try number("altitude", Location.altitudes.upperBound)
    do throws(Problem) { try place.finish() } catch {
      throw QueryReader.invalid("location", "must have no members except latitude, longitude and altitude")
    }
    guard let latitude, let longitude else {
      throw QueryReader.invalid("location", "must have a latitude and a longitude")
    }
    return Location(latitude: latitude, longitude: longitude, altitude: altitude)
  }

  /// One asset, or several that get the same adjustments.
  mutating func adjustmentTargets(_ ifMatch: ChangeToken?) throws(Problem) -> [ChangeTarget] {
    if let target = try optionalTarget("asset") {
      guard !entry.has("assets") else { throw QueryReader.invalid("assets", "can't be combined with asset") }
      return [target]
    }
    guard let names = try entry.texts("assets", atMost: limits.assetsPerEntry), !names.isEmpty else {
      throw QueryReader.invalid("asset", "is missing; or give assets, a list")
    }
    guard ifMatch == nil else { throw QueryReader.invalid("ifMatch", "needs asset, not assets") }
    var targets: [ChangeTarget] = []
    for name in names { targets.append(try Self.target(name, "assets")) }
    return targets
  }

  mutating func createAsset() throws(Problem) -> ChangeRequest.Action {
    let path = try optionalText("path")
    let upload = try optionalText("upload")
    guard (path == nil) != (upload == nil) else {
      throw QueryReader.invalid("path", "must name a file in the library; or give upload instead")
    }
    if let staged = upload.flatMap(UploadIdentifier.init) { return .createAssetFromStagedUpload(staged) }
    if let upload { return .createAssetFromUpload(try LocalIdentifier(parameter: upload, "upload")) }
    let bytes = Array((path ?? "").utf8)
    guard (1...ChangeListBody.pathBytes).contains(bytes.count), !bytes.contains(0), FileChange.isCanonical(bytes)
    else {
      throw QueryReader.invalid(
        "path",
        "must be relative to the library folder, without empty, . and .. components, and have at most "
          + "\(ChangeListBody.pathBytes) bytes")
    }
    return .createAsset(path: bytes)
  }
}
