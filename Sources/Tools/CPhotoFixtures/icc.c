#include <lcms2.h>
#include <stdlib.h>
#include <string.h>

#include "CPhotoFixtures.h"

static uint8_t *saved(cmsHPROFILE profile, size_t *length) {
  cmsUInt32Number count = 0;
  uint8_t *bytes = NULL;
  if (profile && cmsSaveProfileToMem(profile, NULL, &count) && (bytes = malloc(count)))
    cmsSaveProfileToMem(profile, bytes, &count);
  if (profile) cmsCloseProfile(profile);
  *length = count;
  return bytes;
}

static cmsToneCurve *curve(double exponent) {
  static const double srgb[] = {2.4, 1 / 1.055, 0.055 / 1.055, 1 / 12.92, 0.04045};
  return exponent > 0 ? cmsBuildGamma(NULL, exponent) : cmsBuildParametricToneCurve(NULL, 4, srgb);
}

uint8_t *fixture_rgb_profile(const double white[2], const double primaries[6], double exponent, double version,
                             size_t *length) {
  cmsCIExyY point = {white[0], white[1], 1};
  cmsCIExyYTRIPLE corners = {{primaries[0], primaries[1], 1}, {primaries[2], primaries[3], 1},
                             {primaries[4], primaries[5], 1}};
  cmsToneCurve *one = curve(exponent), *curves[] = {one, one, one};
  cmsHPROFILE profile = cmsCreateRGBProfile(&point, &corners, curves);
  cmsFreeToneCurve(one);
  if (profile) cmsSetProfileVersion(profile, version);
  return saved(profile, length);
}

uint8_t *fixture_gray_profile(double exponent, size_t *length) {
  cmsToneCurve *one = curve(exponent);
  cmsHPROFILE profile = cmsCreateGrayProfile(cmsD50_xyY(), one);
  cmsFreeToneCurve(one);
  return saved(profile, length);
}

static cmsInt32Number add(const cmsUInt16Number in[], cmsUInt16Number out[], void *colorants) {
  const cmsCIEXYZ *primaries = colorants;
  cmsCIEXYZ sum = {0, 0, 0};
  for (int i = 0; i < 3; i++) {
    double share = in[i] / 65535.0;
    sum.X += share * primaries[i].X;
    sum.Y += share * primaries[i].Y;
    sum.Z += share * primaries[i].Z;
  }
  cmsFloat2XYZEncoded(out, &sum);
  return TRUE;
}

uint8_t *fixture_table_profile(const double white[2], const double primaries[6], double exponent,
                               double table_exponent, size_t *length) {
  size_t count = 0;
  uint8_t *bytes = fixture_rgb_profile(white, primaries, exponent, 2.1, &count);
  cmsHPROFILE profile = bytes ? cmsOpenProfileFromMem(bytes, (cmsUInt32Number)count) : NULL;
  free(bytes);
  if (!profile) return saved(NULL, length);
  const cmsTagSignature tags[] = {cmsSigRedColorantTag, cmsSigGreenColorantTag, cmsSigBlueColorantTag};
  cmsCIEXYZ colorants[3];
  for (int i = 0; i < 3; i++) colorants[i] = *(const cmsCIEXYZ *)cmsReadTag(profile, tags[i]);
  cmsToneCurve *one = curve(table_exponent), *curves[] = {one, one, one};
  cmsPipeline *pipeline = cmsPipelineAlloc(NULL, 3, 3);
  cmsStage *table = cmsStageAllocCLut16bit(NULL, 2, 3, 3, NULL);
  cmsStageSampleCLut16bit(table, add, colorants, 0);
  cmsPipelineInsertStage(pipeline, cmsAT_END, cmsStageAllocToneCurves(NULL, 3, curves));
  cmsPipelineInsertStage(pipeline, cmsAT_END, table);
  cmsWriteTag(profile, cmsSigAToB0Tag, pipeline);
  cmsPipelineFree(pipeline);
  cmsFreeToneCurve(one);
  return saved(profile, length);
}

static cmsInt32Number mix(const cmsUInt16Number in[], cmsUInt16Number out[], void *inks) {
  const double *lab = inks;
  cmsCIELab sum = {100, 0, 0};
  for (int i = 0; i < 3; i++) {
    double share = in[i] / 65535.0;
    sum.L += share * (lab[i * 3] - 100);
    sum.a += share * lab[i * 3 + 1];
    sum.b += share * lab[i * 3 + 2];
  }
  double black = in[3] / 65535.0;
  sum.L = sum.L * (1 - black) + lab[9] * black;
  sum.a *= 1 - black;
  sum.b *= 1 - black;
  cmsFloat2LabEncodedV2(out, &sum);
  return TRUE;
}

uint8_t *fixture_cmyk_profile(const double inks[10], size_t *length) {
  cmsHPROFILE profile = cmsCreateProfilePlaceholder(NULL);
  cmsSetProfileVersion(profile, 2.1);
  cmsSetDeviceClass(profile, cmsSigOutputClass);
  cmsSetColorSpace(profile, cmsSigCmykData);
  cmsSetPCS(profile, cmsSigLabData);
  cmsWriteTag(profile, cmsSigMediaWhitePointTag, cmsD50_XYZ());
  cmsPipeline *pipeline = cmsPipelineAlloc(NULL, 4, 3);
  cmsStage *table = cmsStageAllocCLut16bit(NULL, 9, 4, 3, NULL);
  cmsStageSampleCLut16bit(table, mix, (void *)inks, 0);
  cmsPipelineInsertStage(pipeline, cmsAT_END, table);
  cmsWriteTag(profile, cmsSigAToB0Tag, pipeline);
  cmsPipelineFree(pipeline);
  return saved(profile, length);
}

bool fixture_to_srgb(const uint8_t *profile, size_t length, int channels, const uint8_t *pixels, uint8_t *rgb,
                     size_t count) {
  cmsHPROFILE from = cmsOpenProfileFromMem(profile, (cmsUInt32Number)length), to = cmsCreate_sRGBProfile();
  cmsHTRANSFORM transform =
      from ? cmsCreateTransform(from, channels == 1 ? TYPE_GRAY_8 : TYPE_RGB_8, to, TYPE_RGB_8,
                                INTENT_RELATIVE_COLORIMETRIC, cmsFLAGS_NOOPTIMIZE)
           : NULL;
  if (transform) {
    cmsDoTransform(transform, pixels, rgb, (cmsUInt32Number)count);
    cmsDeleteTransform(transform);
  }
  if (from) cmsCloseProfile(from);
  cmsCloseProfile(to);
  return transform != NULL;
}
