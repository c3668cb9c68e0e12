# SPDX-License-Identifier: Apache-2.0
"""Networks of torchvision that say what is where in an image: segmentation and boxes, by PyTorch's exporters."""
import torch

from networks import exported, image


def segments(name, size=96, opset=18, old=False, batch=1):
    import torchvision
    make = lambda: torchvision.models.get_model(name, weights=None, weights_backbone=None, num_classes=6)
    return lambda: exported(make, [image(size, batch)], opset, lambda m, x: m(x)["out"], old)


def lively(model, gain):
    """Scores of a network with random weights are so near to each other that rounding would order them: batches are normed by what
    comes, and the last layers have large weights. Too large ones have scores of nearly 1, which rounding orders as well."""
    for name, weight in model.named_parameters():
        if weight.dim() > 1 and any(part in name for part in ("cls_logits", "cls_score", "classification_head")):
            torch.nn.init.normal_(weight, std=gain / weight[0].numel() ** 0.5)
    norms = [m for m in model.modules() if isinstance(m, torch.nn.BatchNorm2d)]
    for norm in norms:
        norm.train().momentum = 1.0
    with torch.no_grad():
        model.backbone(image(128, 16))
    return model.eval()


def found(m, x):
    y = m([x[0]])[0]
    return tuple(y[key] for key in sorted(y))


def boxes(make, size=96, opset=18, gain=2.0):
    """By the exporter that traces: the other one stops at sizes that depend on data."""
    return lambda: exported(lambda: lively(make().eval(), gain), [image(size)], opset, found, True)


def single_shot():
    from torchvision.models.detection import ssdlite320_mobilenet_v3_large
    return lambda: ssdlite320_mobilenet_v3_large(weights=None, weights_backbone=None, num_classes=5, detections_per_img=20, topk_candidates=50)


def with_backbone(kind, **options):
    """By the detector's own class, on the smallest network with a pyramid, with as few boxes as show what it does."""
    def make():
        from torchvision.models import detection
        from torchvision.models.detection import backbone_utils, faster_rcnn
        backbone = backbone_utils.mobilenet_backbone(weights=None, backbone_name="mobilenet_v3_small", fpn=True, trainable_layers=6,
                                                     norm_layer=torch.nn.BatchNorm2d)
        sizes = ((16, 32, 64),) * 3
        anchors = detection.anchor_utils.AnchorGenerator(sizes, ((0.5, 1.0, 2.0),) * 3)
        if kind == "RetinaNet":
            return detection.RetinaNet(backbone, 5, min_size=96, max_size=128, anchor_generator=anchors, detections_per_img=20, topk_candidates=50, **options)
        rcnn = dict(min_size=96, max_size=128, rpn_anchor_generator=anchors, rpn_pre_nms_top_n_test=60, rpn_post_nms_top_n_test=30,
                    box_detections_per_img=8, box_head=faster_rcnn.TwoMLPHead(256 * 7 * 7, 64), box_predictor=faster_rcnn.FastRCNNPredictor(64, 5))
        if kind == "MaskRCNN":
            rcnn["mask_predictor"] = detection.mask_rcnn.MaskRCNNPredictor(256, 16, 5)
        return getattr(detection, kind)(backbone, **rcnn, **options)
    return make


MODELS = {
    "deeplab": segments("deeplabv3_mobilenet_v3_large"), "deeplab-traced": segments("deeplabv3_mobilenet_v3_large", opset=13, old=True),
    "deeplab-8": segments("deeplabv3_mobilenet_v3_large", 64, opset=20, batch=8), "lraspp": segments("lraspp_mobilenet_v3_large"),
    "ssdlite": boxes(single_shot(), gain=0.7),
    "faster-rcnn": boxes(with_backbone("FasterRCNN")), "mask-rcnn": boxes(with_backbone("MaskRCNN")),
    "retinanet": boxes(with_backbone("RetinaNet")),
}
