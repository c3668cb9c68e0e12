/* SPDX-License-Identifier: Apache-2.0 */
/* Operators of the domain com.microsoft and functions of the model: they compute what the standard
 * operators compute that they stand for. */
#include <unistd.h>

#include "base/exit_status.h"
#include "tests/support/check.h"
#include "tests/support/model_scene.h"
#include "tests/support/temp.h"

#define RUN(...) model_scene_run(NULL, MODEL_WORDS("model.onnx", __VA_ARGS__))

/* A model that computes y and z; ok is 1 where they are the same, and not all 0. */
static void expect_same(const char *lines)
{
    static const char compare[] = "const eps f32 = 0.001\n"
                                  "node Sub y,z -> d\nnode Abs d -> e\nnode Abs z -> size\n"
                                  "node ReduceMax size -> most keepdims=0\n"
                                  "node Mul most,eps -> allowed\n"
                                  "node ReduceMax e -> worst keepdims=0\n"
                                  "node Less worst,allowed -> less\nnode Cast less -> ok to=1\n"
                                  "output ok\n";
    char *text = NULL, *path, *name, *bytes;
    struct child_result result;
    size_t size;
    float ok;

    assert_true(
        asprintf(&text, "opset 13\nopset 1 com.microsoft\nopset 1 my\n%s%s", lines, compare) > 0);
    model_scene_write("model.onnx", text);
    result = RUN("--iter", "1", "--warmup-iter", "0", "--bin-out-dump", ".", "--io-dump", "dump");
    if (result.status != EXIT_OK)
        fail_msg("%s\n%s", lines, result.err);
    child_result_deinit(&result);
    path = temp_path(model_scene.folder, "dump");
    bytes = temp_read(path, NULL);
    name = strstr(bytes, "name=ok ");
    assert_non_null(name);
    while (name > bytes && name[-1] != '\n')
        name--;
    free(path);
    assert_true(asprintf(&path, "%s/run0-var%d", model_scene.folder, atoi(name + 3)) > 0);
    free(bytes);
    bytes = temp_read(path, &size);
    memcpy(&ok, bytes + size - sizeof(ok), sizeof(ok));
    if (ok != 1.0f)
        fail_msg("not the same:\n%s", lines);
    unlink(path);
    free(bytes);
    free(path);
    model_scene_expect(RUN("--verify-against", "ref"), EXIT_OK, "", "");
    free(text);
}

static void fused_products_are_products(void **state)
{
    static const char *const cases[] = {
        "input a f32 3,4\ninput b f32 4,5\nnode com.microsoft.FusedMatMul a,b -> y\n"
        "node MatMul a,b -> z\n",
        "input a f32 3,4\ninput b f32 4,5\nnode com.microsoft.FusedMatMul a,b -> y alpha=0.25\n"
        "const c f32 = 0.25\nnode MatMul a,b -> p\nnode Mul p,c -> z\n",
        "input a f32 4,3\ninput b f32 5,4\n"
        "node com.microsoft.FusedMatMul a,b -> y transA=1 transB=1 alpha=-2.0\n"
        "const c f32 = -2\nnode Transpose a -> s perm=[1,0]\nnode Transpose b -> t perm=[1,0]\n"
        "node MatMul s,t -> p\nnode Mul p,c -> z\n",
        /* as attention has it, and with a batch that is broadcast */
        "input a f32 2,3,6,8\ninput b f32 2,3,7,8\n"
        "node com.microsoft.FusedMatMul a,b -> y transB=1 alpha=0.125\n"
        "const c f32 = 0.125\nnode Transpose b -> t perm=[0,1,3,2]\nnode MatMul a,t -> p\n"
        "node Mul p,c -> z\n",
        "input a f32 3,6,8\ninput b f32 2,1,6,7\n"
        "node com.microsoft.FusedMatMul a,b -> y transA=1\n"
        "node Transpose a -> s perm=[0,2,1]\nnode MatMul s,b -> z\n",
        "input a f32 6,3,8\ninput b f32 3,8,7\n"
        "node com.microsoft.FusedMatMul a,b -> y transBatchA=1\n"
        "node Transpose a -> s perm=[1,0,2]\nnode MatMul s,b -> z\n",
        "input a f32 8,2,3,6\ninput b f32 7,2,3,8\n"
        "node com.microsoft.FusedMatMul a,b -> y transBatchA=1 transA=1 transBatchB=1 transB=1\n"
        "node Transpose a -> s perm=[1,2,3,0]\nnode Transpose b -> t perm=[1,2,3,0]\n"
        "node MatMul s,t -> z\n",
        "input a f32 5,3,6\ninput b f32 6,3,7\n"
        "node com.microsoft.FusedMatMul a,b -> y transBatchA=1 transBatchB=1\n"
        "node Transpose a -> s perm=[1,0,2]\nnode Transpose b -> t perm=[1,0,2]\n"
        "node MatMul s,t -> z\n",
        /* vectors are not transposed */
        "input a f32 4\ninput b f32 5,4\nnode com.microsoft.FusedMatMul a,b -> y transA=1 "
        "transB=1\n"
        "node Transpose b -> t perm=[1,0]\nnode MatMul a,t -> z\n",
        "input a f32 4,3\ninput b f32 4\nnode com.microsoft.FusedMatMul a,b -> y transA=1 "
        "transB=1\n"
        "node Transpose a -> s perm=[1,0]\nnode MatMul s,b -> z\n",
        /* other types */
        "input x f32 2,5,16\ninput w f32 2,7,16\nnode Cast x -> a to=10\nnode Cast w -> b to=10\n"
        "node com.microsoft.FusedMatMul a,b -> p transB=1 alpha=0.5\nnode Cast p -> y to=1\n"
        "const c f32 = 0.5\nnode Cast a -> s to=1\nnode Cast b -> t to=1\n"
        "node Transpose t -> u perm=[0,2,1]\nnode MatMul s,u -> q\nnode Mul q,c -> z\n",
        "input x f32 2,16,5\ninput w f32 16,7\nnode Cast x -> a to=11\nnode Cast w -> b to=11\n"
        "node com.microsoft.FusedMatMul a,b -> p transA=1 alpha=0.5\nnode Cast p -> y to=1\n"
        "const c f32 = 0.5\nnode Transpose x -> u perm=[0,2,1]\nnode MatMul u,w -> q\n"
        "node Mul q,c -> z\n",
        /* constant weights, of a matrix and of many */
        "input a f32 2,9,32\nconst b f32 24,32\nconst r f32 24\n"
        "node com.microsoft.FusedMatMul a,b -> p transB=1 alpha=0.5\nnode Add p,r -> y\n"
        "const c f32 = 0.5\nnode Transpose b -> t perm=[1,0]\nnode MatMul a,t -> q\n"
        "node Mul q,c -> u\nnode Add u,r -> z\n",
        "input a f32 2,9,32\nconst b f32 2,32,24\nnode com.microsoft.FusedMatMul a,b -> y "
        "alpha=3.0\n"
        "const c f32 = 3\nnode MatMul a,b -> q\nnode Mul q,c -> z\n",
        "input a f32 32,9\nconst b f32 32,24\nnode com.microsoft.FusedMatMul a,b -> y transA=1\n"
        "node Transpose a -> s perm=[1,0]\nnode MatMul s,b -> z\n",
        /* weights of bits whose scales, 0.5 and 0.25, are of half precision */
        "input v f32 3,16\nconst w u8 2,1,8 = 33 67 101 135 169 203 237 15 9 8 7 6 90 91 92 254\n"
        "const s f16 2 = 14336 13312\nconst s4 f32 2,1 = 0.5 0.25\nnode Cast v -> x to=10\n"
        "node com.microsoft.MatMulNBits x,w,s -> h K=16 N=2 block_size=16\n"
        "node Cast h -> y to=1\nnode Cast x -> u to=1\nconst flat i64 2 = 2 16\n"
        "const bytes i64 3 = 2 8 1\nconst sixteen i32 = 16\nconst eight f32 = 8\n"
        "node Cast w -> w4 to=6\nnode Reshape w4,bytes -> w5\nnode Mod w5,sixteen -> low\n"
        "node Div w5,sixteen -> high\nnode Concat low,high -> q axis=2\n"
        "node Reshape q,flat -> rows\nnode Cast rows -> numbers to=1\n"
        "node Sub numbers,eight -> centred\nnode Mul centred,s4 -> weights\n"
        "node Transpose weights -> columns perm=[1,0]\nnode MatMul u,columns -> z\n",
        "const a f32 9,32\nconst b f32 24,32\ninput x f32 1\n"
        "node com.microsoft.FusedMatMul a,b -> p transB=1\nnode Add p,x -> y\n"
        "node Transpose b -> t perm=[1,0]\nnode MatMul a,t -> q\nnode Add q,x -> z\n",
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        expect_same(cases[i]);
}

static void what_does_not_fit_is_refused(void **state)
{
    model_scene_write("model.onnx",
                      "opset 13\nopset 1 com.microsoft\ninput a f32 3,4\ninput b f32 5,6\n"
                      "node com.microsoft.FusedMatMul a,b -> y transB=1\noutput y\n");
    model_scene_expect(RUN("--iter", "1"), EXIT_INPUT, "", "share a dimension of 4 and 6");
    model_scene_write("model.onnx",
                      "opset 13\nopset 1 com.microsoft\ninput a i32 3,4\ninput b i32 4,6\n"
                      "node com.microsoft.FusedMatMul a,b -> y\noutput y\n");
    model_scene_expect(RUN("--iter", "1"), EXIT_INPUT, "", "FusedMatMul");
    model_scene_write("model.onnx",
                      "opset 13\nopset 1 com.microsoft\ninput a f32 3,4\ninput b f32 4,6\n"
                      "node com.microsoft.FusedMatMul a,b -> y scale=1.5\noutput y\n");
    model_scene_expect(RUN("--iter", "1"), EXIT_INPUT, "", "attribute 'scale' is not known");
    model_scene_write("model.onnx",
                      "opset 13\nopset 1 com.microsoft\ninput a f64 3,2,4\ninput b f64 2,4,6\n"
                      "node com.microsoft.FusedMatMul a,b -> y transBatchA=1\noutput y\n");
    model_scene_expect(RUN("--iter", "1"), EXIT_INPUT, "",
                       "no kernel for float64 with a transposed batch");
    /* Another domain's, and one that is called as if it were of it. */
    model_scene_write("model.onnx", "opset 13\nopset 1 other\ninput a f32 3,4\ninput b f32 4,6\n"
                                    "node other.FusedMatMul a,b -> y\noutput y\n");
    model_scene_expect(RUN("--iter", "1"), EXIT_INPUT, "", "operator other.FusedMatMul (opset 1)");
}

/* Sizes that do not go together, and blocks that lie outside. */
static void hostile_blocks_are_refused(void **state)
{
    static const struct {
        const char *lines, *sentence;
    } cases[] = {
        {"input x f32 2,32\nconst w u8 3,2,8\nconst s f32 6\n"
         "node com.microsoft.MatMulNBits x,w,s -> y K=32 N=4 block_size=16\n",
         "not constant blocks of 2, 4 or 8 bits"},
        {"input x f32 2,32\nconst w u8 3,2,8\nconst s f32 6\n"
         "node com.microsoft.MatMulNBits x,w,s -> y K=32 N=3 block_size=16 bits=3\n",
         "not constant blocks of 2, 4 or 8 bits"},
        {"input x f32 2,16\nconst w u8 3,1,8\nconst s f32 3\nconst o i32 16 = 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 1\n"
         "node com.microsoft.MatMulNBits x,w,s,-,o -> y K=16 N=3 block_size=16\n",
         "not constant blocks of 2, 4 or 8 bits"},
        {"input x f32 2,32\nconst w u8 3,2,8\nconst s f32 6\nconst z i64 6 = 1 1 1 1 1 1\n"
         "node com.microsoft.MatMulNBits x,w,s,z -> y K=32 N=3 block_size=16\n",
         "not constant blocks of 2, 4 or 8 bits"},
        {"input x f32 2,32\nconst w u8 47\nconst s f32 6\n"
         "node com.microsoft.MatMulBnb4 x,w,s -> y K=32 N=3 block_size=16 quant_type=1\n",
         "not constant blocks of 4 bits"},
        {"input x f32 2,32\nconst w u8 48\nconst s f32 6\n"
         "node com.microsoft.MatMulBnb4 x,w,s -> y K=32 N=3 block_size=0 quant_type=1\n",
         "make no matrix of blocks"},
        {"input x f32 2,32\nconst w u8 48\nconst s f32 6\n"
         "node com.microsoft.MatMulBnb4 x,w,s -> y K=32 N=3 block_size=16 quant_type=2\n",
         "make no matrix of blocks"},
        {"input x i64 2\nconst w u8 3,8\nconst s f32 3\n"
         "node com.microsoft.GatherBlockQuantized w,x,s -> y block_size=16\n",
         "no constant table of blocks"},
        {"input x i64 2\nconst w u8 3,8\nconst s f32 3,1\n"
         "node com.microsoft.GatherBlockQuantized w,x,s -> y block_size=16 quantize_axis=0\n",
         "no constant table of blocks"},
        {"input x i64 2\nconst w u8 3,8\nconst s f32 3,1\nconst z u8 3,2\n"
         "node com.microsoft.GatherBlockQuantized w,x,s,z -> y block_size=16\n",
         "not those of its scales"},
        {"input x i64 2\nconst w u8 3,8\nconst s f32 3,2\n"
         "node com.microsoft.GatherBlockQuantized w,x,s -> y block_size=16\n",
         "has not one scale for each block of 16"},
        {"input x f32 1,3,4,4\nconst w f32 7,3,3,3\nnode com.microsoft.nchwc.Conv x,w -> y\n",
         "no constant blocks of 8 channels"},
        {"input x f32 1,9,4,4\nconst w f32 8,9,3,3\nnode com.microsoft.nchwc.Conv x,w -> y\n",
         "no constant blocks of 8 channels"},
        {"input x f32 1,3,4,4\nconst w f32 = 1\nnode com.microsoft.nchwc.Conv x,w -> y\n",
         "no constant blocks of"},
        {"input x f32 1,3,4,4\nnode com.microsoft.nchwc.Upsample x -> y\n", "attribute scales"},
        {"input x u8 1,3,4,4\nnode com.microsoft.NhwcMaxPool x -> y\n", "how many axes"},
        {"input x u8 1,4,4,3\nnode com.microsoft.NhwcMaxPool x -> y kernel_shape=[2,2] pads=[1,1]\n",
         "pads has 2 numbers, not 4"},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char *text;

        assert_true(asprintf(&text,
                             "opset 21\nopset 1 com.microsoft\nopset 1 com.microsoft.nchwc\n"
                             "%soutput y\n",
                             cases[i].lines) > 0);
        model_scene_write("model.onnx", text);
        model_scene_expect(RUN("--iter", "1"), EXIT_INPUT, "", cases[i].sentence);
        free(text);
    }
}

static void functions_are_their_nodes(void **state)
{
    static const char *const cases[] = {
        /* names inside are the function's own */
        "function my.F a,b -> c scale\nnode Mul a,b -> t\nnode LeakyRelu t -> c alpha=@scale\nend\n"
        "input x f32 2,3\ninput w f32 2,3\nnode my.F x,w -> y scale=0.5\nnode Mul x,w -> t\n"
        "node LeakyRelu t -> z alpha=0.5\n",
        /* an attribute that is left out, one that is handed on, calls inside of calls */
        "function my.Leak a -> c slope\nnode LeakyRelu a -> c alpha=@slope\nend\n"
        "function my.Both a -> d,c slope\nnode my.Leak a -> t slope=@slope\nnode my.Leak t -> c\n"
        "node Neg a -> d\nend\n"
        "input x f32 4,5\nnode my.Both x -> n,p slope=0.25\nnode my.Both x -> m,q\nnode Add p,q -> "
        "r\n"
        "node Add r,n -> y\n"
        "node LeakyRelu x -> a alpha=0.25\nnode LeakyRelu a -> b\nnode LeakyRelu x -> c\n"
        "node LeakyRelu c -> v\nnode Add b,v -> w\nnode Neg x -> g\nnode Add w,g -> z\n",
        /* left-out inputs and outputs, outputs in another order than they are made */
        "function my.C a,low,high -> twice,c\nnode Clip a,low,high -> c\nnode Add c,c -> "
        "twice\nend\n"
        "input x f32 4,5\nconst h f32 = 0.25\nnode my.C x,-,h -> -,p\nnode my.C x -> q,r\n"
        "node Add p,q -> y\n"
        "node Clip x,-,h -> a\nnode Add x,x -> b\nnode Add a,b -> z\n",
        /* an input that is handed on, and the model's own operator of a standard name */
        "function my.Same a,b -> a,c\nnode Add a,b -> c\nend\n"
        "function Gelu x -> y\nnode Relu x -> y\nend\n"
        "input x f32 4,5\ninput w f32 4,5\nnode my.Same x,w -> p,q\nnode Mul p,q -> s\nnode Gelu s "
        "-> y\n"
        "node Add x,w -> a\nnode Mul x,a -> b\nnode Relu b -> z\n",
        /* bodies inside that read the function's names and attributes, and call another one */
        "function my.Leak a -> c slope\nnode LeakyRelu a -> c alpha=@slope\nend\n"
        "body yes\nnode my.Leak t -> u slope=@scale\noutput u\nend\n"
        "body no\nnode Neg a -> u\noutput u\nend\n"
        "function my.F a,flag -> c scale\nnode Add a,a -> t\n"
        "node If flag -> u then_branch=$yes else_branch=$no\nnode Abs u -> v\nnode Add u,v -> "
        "c\nend\n"
        "input x f32 3,4\nconst on bool = 1\nconst off bool = 0\n"
        "node my.F x,on -> p scale=0.5\nnode my.F x,off -> q scale=0.5\nnode Add p,q -> y\n"
        "node Add x,x -> a\nnode LeakyRelu a -> b alpha=0.5\nnode Abs b -> c\nnode Add b,c -> g\n"
        "node Neg x -> h\nnode Abs h -> i\nnode Add h,i -> j\nnode Add g,j -> z\n",
        /* another version of the operator set, in which what it has is the same */
        "function my.F a -> b\nopset 12\nnode Relu a -> c\nnode Neg c -> b\nend\n"
        "input x f32 3,8\nnode my.F x -> y\n"
        "node Relu x -> c\nnode Neg c -> z\n",
        /* what ONNX Runtime writes into older operator sets */
        "input x f32 3,8\nconst s f32 8\nconst tiny f32 = 0.00001\n"
        "node LayerNormalization x,s -> y\n"
        "node ReduceMean x -> m axes=[1]\nnode Sub x,m -> h\nnode Mul h,h -> q\n"
        "node ReduceMean q -> v axes=[1]\nnode Add v,tiny -> w\nnode Sqrt w -> r\n"
        "node Div h,r -> n\nnode Mul n,s -> z\n",
        /* contributed operators inside, constants outside */
        "function my.P a,b -> c\nnode com.microsoft.FusedMatMul a,b -> c transB=1 alpha=0.5\nend\n"
        "input x f32 3,8\nconst w f32 5,8\nnode my.P x,w -> y\n"
        "const h f32 = 0.5\nnode Transpose w -> t perm=[1,0]\nnode MatMul x,t -> m\nnode Mul m,h "
        "-> z\n",
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        expect_same(cases[i]);
}

#define HEAD "opset 13\nopset 1 my\n"

static void hostile_functions_are_refused(void **state)
{
    static const struct {
        const char *text, *sentence;
    } cases[] = {
        {"function my.F a -> b\nnode my.F a -> b\nend\ninput x f32 2\nnode my.F x -> y\noutput y\n",
         "function 'F' calls itself"},
        {"function my.F a -> b\nnode my.G a -> b\nend\nfunction my.G a -> b\nnode my.F a -> "
         "b\nend\n"
         "input x f32 2\nnode my.G x -> y\noutput y\n",
         "calls itself"},
        {"function my.F a -> b\nnode Neg a -> b\nend\ninput x f32 2\nnode my.F x,x -> y\noutput "
         "y\n",
         "calls function 'F' with 2 inputs and 1 outputs; it has 1 and 1"},
        {"function my.F a -> b\nnode Neg a -> b\nend\ninput x f32 2\nnode my.F x -> y k=1\noutput "
         "y\n",
         "the attribute 'k', which it does not have"},
        {"function my.F a -> b\nnode Neg c -> b\nend\ninput x f32 2\nnode my.F x -> y\noutput y\n",
         "reads 'F_"},
        {"function my.F a -> b\nnode Neg a -> c\nend\ninput x f32 2\nnode my.F x -> y\noutput y\n",
         "nothing computes the graph's output 'y'"},
        {"function my.F a,a -> b\nnode Neg a -> b\nend\ninput x f32 2\nnode my.F x -> y\noutput "
         "y\n",
         "function 'F' has the name 'a' twice"},
        {"function my.F a -> b\nnode Neg a -> b\nend\nfunction my.F a -> b\nnode Abs a -> b\nend\n"
         "input x f32 2\nnode my.F x -> y\noutput y\n",
         "the model has two functions 'F'"},
        {"function my.F a -> b\nopset 12\nnode Neg a -> c\nnode Softmax c -> b\nend\ninput x f32 2\n"
         "node my.F x -> y\noutput y\n",
         "function 'F' is written for version 12 of operator set '', the model for version 13, which "
         "differ in Softmax: that is not supported"},
        {"input x f32 2\nnode LeakyRelu x -> y alpha=@slope\noutput y\n",
         "stands for an attribute of a function, but is in none"},
        {"function my.F a -> b\nnode my.G a -> b\nend\ninput x f32 2\nnode my.F x -> y\noutput y\n",
         "operator my.G (opset 1) of node \"F_1#0/G_0\" is not supported"},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char *text = NULL;

        assert_true(asprintf(&text, HEAD "%s", cases[i].text) > 0);
        model_scene_write("model.onnx", text);
        model_scene_expect(RUN("--iter", "1"), EXIT_INPUT, "", cases[i].sentence);
        free(text);
    }
}

/* Each of thirty functions calls the next one twice. */
static void functions_that_grow_without_end_are_refused(void **state)
{
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);

    fputs(HEAD, out);
    for (int i = 0; i < 30; i++)
        fprintf(out, "function my.F%d a -> b\nnode my.F%d a -> c\nnode my.F%d a -> b\nend\n", i,
                i + 1, i + 1);
    fputs("input x f32 2\nnode my.F0 x -> y\noutput y\n", out);
    fputs("function my.F30 a -> b\nend\n", out);
    fclose(out);
    model_scene_write("model.onnx", text);
    model_scene_expect(RUN("--iter", "1"), EXIT_INPUT, "",
                       "the model's functions make more than 262144 calls");
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fused_products_are_products),
        cmocka_unit_test(what_does_not_fit_is_refused),
        cmocka_unit_test(hostile_blocks_are_refused),
        cmocka_unit_test(functions_are_their_nodes),
        cmocka_unit_test(hostile_functions_are_refused),
        cmocka_unit_test(functions_that_grow_without_end_are_refused),
    };

    return cmocka_run_group_tests(tests, model_scene_begin, model_scene_end);
}
