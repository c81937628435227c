"""Archives that mean harm, or are damaged, are refused as a whole before a member is read."""

import io
import tarfile
import zipfile

import pytest

from squentropy.data import DataError
from squentropy.data.archive import Archive


def tar_of(path, *members):
    """Members are (name, content), or a TarInfo that stands for itself."""
    with tarfile.open(path, "w:gz") as tar:
        for member in members:
            if isinstance(member, tarfile.TarInfo):
                tar.addfile(member)
            else:
                info = tarfile.TarInfo(member[0])
                info.size = len(member[1])
                tar.addfile(info, io.BytesIO(member[1]))
    return path


def zip_of(path, *members):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members:
            archive.writestr(name, content)
    return path


def special(name, kind, target=""):
    info = tarfile.TarInfo(name)
    info.type, info.linkname = kind, target
    return info


@pytest.mark.parametrize("make", [tar_of, zip_of])
def test_members_are_read_by_name(tmp_path, make):
    path = make(tmp_path / "a", ("data/iris/iris.txt", b"n_clases= 3"), ("data/wine.txt", b"no"))
    with Archive(path) as archive:
        assert archive.names == ("data/iris/iris.txt", "data/wine.txt")
        assert archive.read("data/iris/iris.txt") == b"n_clases= 3"
        with pytest.raises(DataError, match=r"no member 'iris\.txt'"):
            archive.read("iris.txt")
    assert [each.name for each in tmp_path.iterdir()] == ["a"]  # nothing is unpacked


@pytest.mark.parametrize("make", [tar_of, zip_of])
@pytest.mark.parametrize("name", ["../evil", "a/../../evil", "/etc/passwd", "C:/evil", "a\\..\\evil"])
def test_names_that_point_outside(tmp_path, make, name):
    with pytest.raises(DataError, match="points outside the archive; the archive is not used"):
        Archive(make(tmp_path / "a", ("fine", b""), (name, b"")))


@pytest.mark.parametrize("kind", [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.CHRTYPE, tarfile.FIFOTYPE])
def test_links_and_devices_in_a_tar(tmp_path, kind):
    with pytest.raises(DataError, match="'odd' is a link or a special file"):
        Archive(tar_of(tmp_path / "a", ("fine", b""), special("odd", kind, "/etc/passwd")))


def test_a_symlink_in_a_zip(tmp_path):
    info = zipfile.ZipInfo("odd")
    info.external_attr = 0o120777 << 16
    with pytest.raises(DataError, match="'odd' is a link or a special file"):
        Archive(zip_of(tmp_path / "a", (info, "/etc/passwd")))


def test_a_name_that_occurs_twice(tmp_path):
    with pytest.raises(DataError, match="'x' occurs twice"):
        Archive(tar_of(tmp_path / "a", ("x", b"1"), ("x", b"2")))
    with pytest.warns(UserWarning, match="Duplicate name"):
        path = zip_of(tmp_path / "b", ("x", b"1"), ("x", b"2"))
    with pytest.raises(DataError, match="'x' occurs twice"):
        Archive(path)


@pytest.mark.parametrize("make", [tar_of, zip_of])
def test_a_bomb(tmp_path, make):
    path = make(tmp_path / "a", ("zeros", bytes(10**6)))
    assert path.stat().st_size < 2**13
    with pytest.raises(DataError, match="over the limit of 999999 bytes"):
        Archive(path, limit=999_999)
    Archive(path, limit=10**6)


@pytest.mark.parametrize("make", [tar_of, zip_of])
def test_every_truncation_is_one_error(tmp_path, make):
    """Or none, where only the padding at the end is cut off: then the member is whole."""
    member = bytes(range(256)) * 8
    content = make(tmp_path / "whole", ("a/b", member)).read_bytes()
    path = tmp_path / "cut"
    refused = 0
    for length in range(0, len(content), 7):
        path.write_bytes(content[:length])
        try:
            with Archive(path) as archive:
                assert archive.read("a/b") == member
        except DataError:
            refused += 1
    assert refused > 0.8 * len(content) / 7


def test_no_archive_at_all(tmp_path):
    with pytest.raises(FileNotFoundError):
        Archive(tmp_path / "none")
