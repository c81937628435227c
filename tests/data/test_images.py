"""Images from every form in which they come: the same pixels, and one clear error for what is wrong with a file."""

import json
import pickle
import zipfile
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image

from squentropy.data import MANIFEST, DataError, MissingDataError, WrongHashError, is_at_hand, verify
from squentropy.data.image_readers import (
    read_blobs,
    read_cifar_batch,
    read_columns,
    read_idx,
    read_mosaic,
    read_rows_of_pixels,
    read_stl10,
    read_svhn,
)
from squentropy.data.image_sets import LAYOUTS, load_images
from squentropy.data.images import ImageArray, ImageFiles, ImageSet, first_of_each_class, reduced, to_tensor
from tests.data import image_files

SHARED = Path(__file__).parents[3] / "shared" / "data"
needs_shared = pytest.mark.skipif(not SHARED.is_dir(), reason="the real data sets are not at hand")


@pytest.fixture(autouse=True)
def _nothing_at_hand(tmp_path, monkeypatch):
    monkeypatch.setenv("SQUENTROPY_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("HF_DATASETS_CACHE", str(tmp_path / "hub"))
    monkeypatch.delenv("SQUENTROPY_DATA", raising=False)


@pytest.fixture
def unknown_hashes(monkeypatch):
    """The tiny files of these tests have not the published hashes."""
    for name in LAYOUTS:
        monkeypatch.setitem(MANIFEST, name, MANIFEST[name].__class__(**{**vars(MANIFEST[name]), "files": ()}))


def as_planes(images):
    return torch.from_numpy(images.transpose(0, 3, 1, 2).copy())


@pytest.mark.parametrize("compressed", [True, False])
def test_mnist(tmp_path, unknown_hashes, compressed):
    images = image_files.pixels(5, 28, 28)[..., 0]
    image_files.write_mnist(tmp_path / "mnist", images, np.array([3, 1, 4, 1, 5]), compressed=compressed)
    found = load_images("mnist", tmp_path)
    assert torch.equal(found.train.pixels[:, 0], torch.from_numpy(images))
    assert found.test.target.tolist() == [3, 1, 4, 1, 5]
    assert found.num_classes == 10


@pytest.mark.parametrize("packed", [True, False])
@pytest.mark.parametrize(
    ("name", "folder", "archive", "train", "test", "key"),
    [
        ("cifar10", "cifar-10-batches-py", "cifar-10-python.tar.gz", 5, "test_batch", "labels"),
        ("cifar100", "cifar-100-python", "cifar-100-python.tar.gz", 1, "test", "fine_labels"),
    ],
)
def test_cifar(tmp_path, unknown_hashes, name, folder, archive, train, test, key, packed):
    parts = [f"data_batch_{n}" for n in range(1, 6)] if train == 5 else ["train"]
    batches = {part: image_files.pixels(2, seed=n) for n, part in enumerate([*parts, test])}
    labels = {part: [n, 9 - n] for n, part in enumerate(batches)}
    members = {
        f"{folder}/{part}": image_files.cifar_batch(batches[part], coarse_labels=[0, 0], **{key: labels[part]})
        for part in batches
    }
    if packed:
        (tmp_path / archive).write_bytes(image_files.tar(members))
    else:
        (tmp_path / folder).mkdir()
        for member, content in members.items():
            (tmp_path / member).write_bytes(content)
    found = load_images(name, tmp_path)
    assert torch.equal(found.train.pixels, torch.cat([as_planes(batches[part]) for part in parts]))
    assert found.train.target.tolist() == [label for part in parts for label in labels[part]]
    assert torch.equal(found.test.pixels, as_planes(batches[test]))


class Payload:
    def __reduce__(self):
        return (Path.touch, (Path("touched"),))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (pickle.dumps(Payload(), protocol=2), "asks for"),
        (pickle.dumps({"data": Payload(), "labels": [1]}, protocol=2), "asks for"),
        (b"cos\nsystem\n(S'touch touched'\ntR.", "asks for os.system"),
        (b"cnumpy\nload\n(S'x'\ntR.", "asks for numpy.load"),
        (b"", "is not used"),
        (image_files.cifar_batch(image_files.pixels(2), labels=[0, 1])[:-40], "is not used"),
        (pickle.dumps([1, 2], protocol=2), "no `data` of bytes"),
        (pickle.dumps({"data": np.zeros((2, 3072)), "labels": [0, 1]}, protocol=2), "no `data` of bytes"),
        (image_files.cifar_batch(image_files.pixels(2), labels="01"), "no list of labels"),
        (image_files.cifar_batch(image_files.pixels(2), labels=[1]), "do not fit"),
    ],
)
def test_a_pickle_that_is_no_batch_is_refused_and_runs_nothing(tmp_path, monkeypatch, content, message):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(DataError, match=message):
        read_cifar_batch(content, "batch")
    assert list(tmp_path.iterdir()) == []


def test_svhn(tmp_path, unknown_hashes):
    images = image_files.pixels(4)
    image_files.write_svhn(tmp_path / "svhn", images, [10, 1, 9, 10])
    found = load_images("svhn", tmp_path)
    assert torch.equal(found.train.pixels, as_planes(images))
    assert found.test.target.tolist() == [0, 1, 9, 0]


@pytest.mark.parametrize("packed", [True, False])
def test_stl10(tmp_path, unknown_hashes, packed):
    images = image_files.pixels(3, 96, 96)
    image_files.write_stl10(tmp_path / "stl10_binary", images, [1, 10, 2])
    if packed:
        members = {f"stl10_binary/{path.name}": path.read_bytes() for path in (tmp_path / "stl10_binary").iterdir()}
        for path in (tmp_path / "stl10_binary").iterdir():
            path.unlink()
        (tmp_path / "stl10_binary.tar.gz").write_bytes(image_files.tar(members))
    found = load_images("stl10", tmp_path)
    assert torch.equal(found.train.pixels, as_planes(images))
    assert found.train.target.tolist() == [0, 9, 1]


def test_a_folder_for_each_class(tmp_path):
    image_files.write_class_folders(tmp_path / "imagenet")
    found = load_images("imagenet", tmp_path)
    assert isinstance(found.train, ImageFiles)
    assert found.train.target.tolist() == [0, 0, 0, 1, 1, 1]
    assert found.train.names[0] == "n01/n01_0.JPEG"
    assert found.train.read(torch.tensor([3, 0])).float().mean((1, 2, 3)).round().tolist() == [100.0, 40.0]
    with pytest.raises(DataError, match="images of 2 sizes cannot be one batch"):
        found.train.read(torch.tensor([0, 1]))
    (tmp_path / "imagenet" / "val" / "n03").mkdir()
    with pytest.raises(DataError, match="the same classes, but 'n03' is in only one"):
        load_images("imagenet", tmp_path)


def test_the_original_folders_of_tiny_imagenet(tmp_path):
    root = tmp_path / "tiny-imagenet-200"
    image_files.write_class_folders(root, suffix="png")
    for name in ("n01", "n02"):
        (root / "train" / name / "images").mkdir()
        for path in (root / "train" / name).glob("*.png"):
            path.rename(path.parent / "images" / path.name)
    (root / "val" / "images").mkdir()
    for name in ("n01", "n02"):
        (root / "val" / name / f"{name}_0.png").rename(root / "val" / "images" / f"{name}.png")
    (root / "val" / "val_annotations.txt").write_text("n02.png\tn02\t0\t0\t1\t1\nn01.png\tn01\t0\t0\t1\t1\n")
    found = load_images("tiny-imagenet", tmp_path)
    assert len(found.train.target) == 6
    assert found.test.target.tolist() == [1, 0]
    assert found.test.read(torch.tensor([0, 1]))[:, 0, 0, 0].tolist() == [100, 40]


def test_the_images_of_an_npm_package(tmp_path):
    sheets = {f"data_batch_{n}": image_files.pixels(2, seed=n) for n in range(1, 6)}
    first = sheets["data_batch_1"]
    path = tmp_path / "sheet.png"
    Image.fromarray(first.reshape(2, 1024, 3)).save(path)
    found = read_rows_of_pixels(path.read_bytes(), [7, 3], "sheet")
    assert torch.equal(found.pixels, as_planes(first))
    assert found.target.tolist() == [7, 3]
    with pytest.raises(DataError, match="not 3 rows of 1024"):
        read_rows_of_pixels(path.read_bytes(), [7, 3, 1], "sheet")


def test_a_mosaic(tmp_path):
    images = image_files.pixels(6)
    sheet = np.vstack([np.hstack(images[:3]), np.hstack(images[3:])])
    Image.fromarray(sheet).save(tmp_path / "sheet.webp", lossless=True)
    found = read_mosaic((tmp_path / "sheet.webp").read_bytes(), np.arange(6, dtype=np.uint8), "sheet")
    assert torch.equal(found.pixels, as_planes(images))
    with pytest.raises(DataError, match="are not 5 tiles of 32 x 32"):
        read_mosaic((tmp_path / "sheet.webp").read_bytes(), np.arange(5, dtype=np.uint8), "sheet")


def png(array):
    import io

    buffer = io.BytesIO()
    Image.fromarray(array).save(buffer, "png")
    return buffer.getvalue()


def test_joined_files():
    images = image_files.pixels(3, 8, 8)
    files = [png(each) for each in images]
    content = np.frombuffer(b"".join(files), np.uint8)
    lengths = np.array([len(each) for each in files], np.int32)
    found = read_blobs(content, lengths, torch.tensor([2, 0, 1]), "joined")
    assert torch.equal(found.pixels, as_planes(images))
    with pytest.raises(DataError, match="are not the 3 files"):
        read_blobs(content[:-1], lengths, torch.tensor([2, 0, 1]), "joined")


@pytest.fixture
def table():
    datasets = pytest.importorskip("datasets")
    features = datasets.Features({"img": datasets.Image(), "label": datasets.ClassLabel(10)})
    images = [Image.fromarray(each) for each in image_files.pixels(4)]
    return datasets.Dataset.from_dict({"img": images, "label": [3, 1, 4, 1]}, features=features)


def test_a_repository_of_the_hugging_face_hub(tmp_path, table):
    folder = tmp_path / "cifar10" / "plain_text"
    folder.mkdir(parents=True)
    for part in ("train", "test"):
        table.to_parquet(folder / f"{part}-00000-of-00001.parquet")
    found = load_images("cifar10", tmp_path)
    assert torch.equal(found.train.pixels, as_planes(image_files.pixels(4)))
    assert found.test.target.tolist() == [3, 1, 4, 1]


def test_what_datasets_has_downloaded_under_its_name(tmp_path, table, monkeypatch):
    import datasets

    source = tmp_path / "repository"
    source.mkdir()
    for part in ("train", "test"):
        table.to_parquet(source / f"{part}-00000-of-00001.parquet")
    assert not is_at_hand(MANIFEST["cifar10"])
    datasets.load_dataset(str(source), cache_dir=str(tmp_path / "hub"))
    (tmp_path / "hub" / "repository").rename(tmp_path / "hub" / "uoft-cs___cifar10")
    assert is_at_hand(MANIFEST["cifar10"])
    found = load_images("cifar10")
    assert torch.equal(found.test.pixels, as_planes(image_files.pixels(4)))
    assert found.train.target.tolist() == [3, 1, 4, 1]


def test_a_table_without_images_is_refused(tmp_path):
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    pq.write_table(pa.table({"text": ["a"], "label": [0]}), tmp_path / "a.parquet")
    with pytest.raises(DataError, match=r"has the columns \['text', 'label'\]"):
        read_columns([(tmp_path / "a.parquet").read_bytes()], "a")
    with pytest.raises(DataError, match="neither Parquet nor Arrow"):
        read_columns([b"PAR1 and nothing"], "a")


@pytest.mark.parametrize(
    ("read", "message"),
    [
        (lambda: read_idx(b"", "f"), "f is not an idx file of bytes"),
        (lambda: read_idx(b"\x1f\x8bxx", "f"), "f is a damaged gzip file"),
        (lambda: read_idx(image_files.idx(np.zeros((2, 3)))[:-1], "f"), r"5 bytes of data, its header says \(2, 3\)"),
        (lambda: read_idx(b"\0\0\x0d\x01" + bytes(8), "f"), "not an idx file of bytes"),
        (lambda: read_svhn(b"MATLAB 5.0", "f"), "f is not a MATLAB file with X and y"),
        (lambda: read_stl10(bytes(5), b"\1", "f"), "f has 5 bytes for 1 labels"),
        (lambda: to_tensor(b"GIF89a", "f"), "f is not an image that can be decoded"),
        (lambda: to_tensor(png(image_files.pixels(1)[0])[:100], "f"), "f is not an image that can be decoded"),
    ],
)
def test_a_damaged_file_is_one_error_that_names_it(read, message):
    with pytest.raises(DataError, match=message):
        read()


def test_what_is_not_at_hand_is_said_in_one_sentence(tmp_path):
    for name, words in {
        "svhn": ["train_32x32.mat", "246 MB", "http://ufldl.stanford.edu/housenumbers/", "non-commercial"],
        "stl10": ["stl10_binary.tar.gz", "2.6 GB", "https://cs.stanford.edu/~acoates/stl10/", "none stated"],
        "imagenet": ["155 GB", "https://image-net.org", "train/CLASS/*.JPEG", "non-commercial research"],
        "cifar10": ["170 MB", "`squentropy data fetch cifar10`"],
    }.items():
        with pytest.raises(MissingDataError, match=f"{name} is not at hand") as raised:
            load_images(name, tmp_path)
        assert [word for word in [*words, "--data", "SQUENTROPY_DATA"] if word not in str(raised.value)] == []
    with pytest.raises(DataError, match="'svnh' is not a data set of images: choose one of mnist"):
        load_images("svnh", tmp_path)


def test_a_file_that_is_not_the_published_one_is_refused(tmp_path):
    image_files.write_mnist(tmp_path / "mnist", image_files.pixels(2, 28, 28)[..., 0], np.array([0, 1]))
    with pytest.raises(WrongHashError, match=r"train-images-idx3-ubyte.gz has SHA-256 [0-9a-f]{64}, the manifest says"):
        load_images("mnist", tmp_path)
    assert verify(MANIFEST["mnist"], tmp_path).status == "wrong"


def test_what_has_no_published_hash_is_unknown(tmp_path):
    image_files.write_svhn(tmp_path / "svhn", image_files.pixels(2), [1, 2])
    assert verify(MANIFEST["svhn"], tmp_path).status == "unknown"
    assert verify(MANIFEST["stl10"], tmp_path).status == "missing"
    assert zipfile.is_zipfile(tmp_path / "svhn" / "train_32x32.mat") is False  # MATLAB 5, as published


def test_classes_out_of_range_and_empty_parts_are_refused():
    images = ImageArray(torch.zeros(2, 3, 4, 4, dtype=torch.uint8), torch.tensor([0, 5]))
    with pytest.raises(DataError, match="the train part has classes from 0 to 5, but there are 5"):
        ImageSet("s", images, images, 5)
    empty = ImageArray(torch.zeros(0, 3, 4, 4, dtype=torch.uint8), torch.zeros(0, dtype=torch.int64))
    with pytest.raises(DataError, match="the test part has no images"):
        ImageSet("s", images, empty, 6)
    with pytest.raises(DataError, match="pixels must be bytes"):
        ImageArray(torch.zeros(2, 3, 4, 4), torch.tensor([0, 1]))


def test_a_cut_has_the_first_images_of_each_class_and_rounded_means_of_pixels():
    target = torch.tensor([2, 0, 2, 2, 0, 1])
    assert first_of_each_class(target, 1).tolist() == [0, 1, 5]
    assert first_of_each_class(target, 2).tolist() == [0, 1, 2, 4, 5]
    pixels = torch.arange(16, dtype=torch.uint8).reshape(1, 1, 4, 4).expand(6, 1, 4, 4)
    small = reduced(ImageArray(pixels, target), per_class=1, pool=2)
    assert small.target.tolist() == [2, 0, 1]
    assert small.pixels[0, 0].tolist() == [[2, 4], [10, 12]]  # 2.5, 4.5, 10.5, 12.5, rounded to even
    files = reduced(ImageArray(pixels, target))
    assert torch.equal(files.pixels, pixels)


def test_hashes_tell_pixels_classes_and_files_apart(tmp_path):
    pixels = torch.zeros(2, 3, 4, 4, dtype=torch.uint8)
    images = [
        ImageArray(pixels, torch.tensor([0, 1])),
        ImageArray(pixels, torch.tensor([1, 0])),
        ImageArray(pixels + 1, torch.tensor([0, 1])),
        ImageArray(pixels.reshape(2, 3, 2, 8), torch.tensor([0, 1])),
    ]
    assert len({each.sha256 for each in images}) == 4
    assert images[0].sha256 == ImageArray(pixels.clone(), torch.tensor([0, 1])).sha256
    for name in ("a", "b"):
        image_files.write_class_folders(tmp_path / name / "imagenet")
    first, second = (load_images("imagenet", tmp_path / name) for name in ("a", "b"))
    assert first.train.sha256 == second.train.sha256  # wherever it lies
    next((tmp_path / "b" / "imagenet" / "train" / "n01").iterdir()).write_bytes(b"")
    assert load_images("imagenet", tmp_path / "b").train.sha256 != first.train.sha256


@needs_shared
def test_the_real_sets():
    mnist = load_images("mnist", SHARED)
    assert mnist.train.target[:5].tolist() == [5, 0, 4, 1, 9]
    assert mnist.test.target.bincount().tolist() == [980, 1135, 1032, 1010, 982, 892, 958, 1028, 974, 1009]
    assert round(float(mnist.train.pixels.double().mean()) / 255, 4) == 0.1307
    with pytest.raises(MissingDataError, match="cifar10 is only in part at hand"):
        load_images("cifar10", SHARED)
    cifar = load_images("cifar10", SHARED, whole=False)
    assert cifar.train.target.bincount().tolist() == [1000] * 10
    assert [round(v, 1) for v in cifar.train.pixels.double().mean((0, 2, 3)).tolist()] == pytest.approx(
        [125.3, 123.0, 113.9], abs=1.0
    )
    assert json.dumps(sorted(name for name in LAYOUTS if is_at_hand(MANIFEST[name], SHARED))) == (
        '["cifar10", "cifar100", "mnist", "tiny-imagenet"]'
    )
