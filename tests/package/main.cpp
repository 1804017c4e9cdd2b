#include <sinew/sinew.h>

#include <cstdio>

/// Compiled without the library's flags: what crosses the border (memory of Eigen above all) must not depend on them.
int main() {
  sinew::CharacterOptions creature;
  creature.vertices = 800;
  creature.walk_frames = 4;
  creature.wave_frames = 0;
  const sinew::Character character = sinew::make_character(creature);
  sinew::FitReport report;
  const sinew::Rig rig = sinew::solve_ssdr(character.sequence, {.bones = 12}, report);
  sinew::write_rig("outside.glb", rig);
  const sinew::Errors errors = sinew::evaluate(sinew::read_rig("outside.glb"), character.sequence);
  sinew::Points posed = character.sequence.rest.positions;
  sinew::pose(rig, 1, posed);
  std::printf("%zu bones, E_RMS %.3g\n", rig.bone_count(), errors.e_rms);
  return errors.e_rms > 0 && errors.e_rms < 50 ? 0 : 1;
}
