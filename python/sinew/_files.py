"""Files in, and the viewer page."""

from __future__ import annotations

import html
import json
import os
from collections.abc import Iterable
from typing import Any, Optional, Union

from sinew import _core
from sinew._core import Rig, Sequence
from sinew._types import bytes_of

Path = Union[str, "os.PathLike[str]"]

_MOST_INLINE = 32 << 20  # bytes of a page shown in a notebook


def read(
    *paths: Path,
    clip: Union[str, Iterable[str]] = "",
    mesh: str = "",
    fps: float = 0.0,
    rest: str = "",
    frames: Optional[slice] = None,
    memory_limit: Union[int, str, None] = None,
    scratch: Union[Path, None] = None,
) -> Sequence:
    """Reads an animated mesh.

    paths   one of .glb, .gltf, .fbx, .usda, .usdz, .abc, .npz, a folder of OBJ or PLY frames, a folder with
            rest.obj and frames.pc2 or frames.mdd, a .pc2 or .mdd with NAME.obj beside it; or REST.obj and CACHE.pc2 or
            .mdd. A skinned file is posed.
    clip    of glTF, FBX, USD: name or number of the animation, or a list of them; "": all.
    mesh    a pattern such as 'Body*' over mesh names; "": all.
    fps     frames per second to sample at; 0: the frames or keys of the file.
    rest    frame number or file to take the rest pose from; "": the input's own.
    frames  slice of the frames to keep, counted from 0.
    memory_limit, scratch   bytes, or text such as '4G': frames of more than half of it stay in a file, their own or one
            without a name in the folder `scratch` (None: the system's), and solvers pass over them there. The rig is
            the same. None: all frames are in memory.
    Raises sinew.Error (kind 'input') for files that cannot be accepted; what was mended on the way is a warning.
    """
    most = bytes_of("memory_limit", memory_limit)
    folder = "" if scratch is None else os.fspath(scratch)
    files = [os.fspath(path) for path in paths]
    clips = [clip] if isinstance(clip, str) else list(clip)
    keyed = bool(files) and _core.has_keys(files[-1])
    if len(clips) < 2 and (keyed or not fps):
        return _core.read(files, clips[0] if clips else "", mesh, fps, rest, frames, most, folder)
    parts = []
    for name in clips if keyed else clips[:1]:  # frames are counted at the rate asked for, over all clips
        parts.append(_core.read(files, name, mesh, fps if keyed else 0.0, rest, None, most, folder))
        rest = ""  # that of the first clip
    whole = parts[0] if len(parts) == 1 else _core.concatenate(parts)
    whole = whole.resample(fps) if fps and not keyed else whole
    return whole if frames is None else whole[frames]


def _report_json(rig: Rig) -> str:
    """What the page plots: the report as `sinew solve --report` writes it."""
    solve = {name: value for name, value in rig.report.items() if name != "errors"}
    errors = {name: _plain(value) for name, value in rig.report.get("errors", {}).items()}
    return json.dumps({"errors": errors, "solve": solve}) if rig.report else ""


def _plain(value: Any) -> Any:
    return value.tolist() if hasattr(value, "tolist") else value


def page(rig: Rig, sequence: Optional[Sequence] = None, name: str = "rig") -> str:
    """The text of the viewer page."""
    return _core.page(rig, sequence, name, _report_json(rig))


def view(rig: Rig, sequence: Optional[Sequence], path: Path) -> None:
    """Writes one self-contained HTML page that plays the rig, beside the sequence unless that is None.

    Raises sinew.Error: 'input' where rig and sequence differ in vertices or frames, 'usage' where this build has no
    viewer (has_viewer()), 'output' where the file cannot be written. The page appears when it is complete.
    """
    target = os.fspath(path)
    _core.write_text(target, page(rig, sequence, os.path.splitext(os.path.basename(target))[0]))


def _repr_html_(self: Rig) -> Optional[str]:
    """The viewer inside a notebook; None, so that the notebook shows the text, where there is none or it is too large."""
    if not _core.has_viewer():
        return None
    text = page(self)
    if len(text) > _MOST_INLINE:
        return None
    return f'<iframe srcdoc="{html.escape(text)}" style="width:100%;height:480px;border:0"></iframe>'


Rig._repr_html_ = _repr_html_  # type: ignore[attr-defined]
