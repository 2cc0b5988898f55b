// Fingerprints are stable, fit for file names, and tell machines apart.
#include "core/hardware.h"

#include <gtest/gtest.h>

namespace attune {
namespace {

std::string slug(const std::string& name, int cores = 64) {
  return fingerprint_of({DeviceKind::host, name, "x86-64-v3", cores, "shared-memory", ""});
}

TEST(Fingerprint, DropsWordsThatSayNothing) {
  EXPECT_EQ(slug("AMD EPYC 7763 64-Core Processor"), "host-amd-epyc-7763-64-x86-64-v3-x64");
  EXPECT_EQ(slug("Intel(R) Xeon(R) Gold 6338 CPU @ 2.00GHz"), "host-intel-xeon-gold-6338-x86-64-v3-x64");
  EXPECT_EQ(slug(""), "host-unknown-x86-64-v3-x64");
  EXPECT_EQ(fingerprint_of({DeviceKind::cuda, "NVIDIA H100 80GB HBM3", "sm_90", 8, "nvlink", ""}),
            "cuda-nvidia-h100-80gb-hbm3-sm-90-x8-nvlink");
}

TEST(Fingerprint, TellsCoresAndModelsApart) {
  EXPECT_NE(slug("A 1", 2), slug("A 1", 4));
  EXPECT_NE(slug("A 1"), slug("A 2"));
}

TEST(Fingerprint, IsAFileName) {
  for (const char* name : {"../../etc/passwd", "a b\tc\n", "\xff\xfe", "Ünïcode", "a/b:c*d?"})
    EXPECT_EQ(slug(name).find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789-"), std::string::npos) << slug(name);
}

TEST(CpuModel, ReadsTheFormsOfSeveralArchitectures) {
  EXPECT_EQ(detail::cpu_model("processor\t: 0\nmodel name\t: AMD EPYC 9654 \nmodel name\t: other\n"), "AMD EPYC 9654");
  EXPECT_EQ(detail::cpu_model("processor\t: 0\ncpu\t\t: POWER9, altivec supported\n"), "POWER9, altivec supported");
  EXPECT_EQ(detail::cpu_model("processor : 0\nBogoMIPS : 50.00\n"), "");
}

/// The warning says what differs, where the descriptions do not.
TEST(HardwareMismatch, SaysWhatDiffers) {
  const Hardware here{DeviceKind::host, "A 1", "x86-64-v3", 4, "shared-memory", "host-a-1"};
  Hardware other = here;
  EXPECT_EQ(hardware_mismatch(other, here), "");
  other.fingerprint = "host-a-0";
  const std::string alike = hardware_mismatch(other, here);
  EXPECT_NE(alike.find("host-a-0 and"), std::string::npos) << alike;
  EXPECT_NE(alike.find("is host-a-1"), std::string::npos) << alike;
  EXPECT_EQ(alike.find("'A 1'"), alike.rfind("'A 1'")) << "twice the same: " << alike;
  other.name = "A 0";
  const std::string named = hardware_mismatch(other, here);
  EXPECT_NE(named.find("'A 0'"), std::string::npos) << named;
  EXPECT_NE(named.find("'A 1'"), std::string::npos) << named;
}

TEST(HostHardware, DescribesThisMachine) {
  const Hardware here = host_hardware();
  EXPECT_FALSE(here.name.empty());
  EXPECT_FALSE(here.arch.empty());
  EXPECT_GE(here.ranks_per_node, 1);
  EXPECT_EQ(here.fingerprint, fingerprint_of(here));
  EXPECT_EQ(hardware_mismatch(here, host_hardware()), "");
}

}  // namespace
}  // namespace attune
